// From the text of a condition, a small language about an event, its operator and a blob, to its nodes. Its grammar and its
// meaning stand in gradviz/debugger/steering/conditions/__init__.py; tests/debugger/steering/conditions/table.json holds both
// readers to them.

import { bare } from "../../recording/lookup";
import { meant } from "./meant";
import { DEEPEST, FIELDS, FUNCTIONS, LONGEST, NAMES, STATISTICS, THINGS, type Type } from "./language.gen";

export type Node = { at: number; type: Type; depth: number } & (
  | { kind: "constant"; value: number | string }
  /** A thing and what is asked of it: "event", "op", "x", "g", "inputs", or a blob behind a colon; without an attribute it is the thing itself. */
  | { kind: "field"; thing: string; attribute: string }
  /** A sign, a word or a function as written; "[" a list, "negative" a minus alone. */
  | { kind: "operation"; sign: string; parts: Node[] }
);
export type Field = Extract<Node, { kind: "field" }>;

/** A text that says nothing, and the character where it stops making sense. */
export class ConditionError extends Error {
  constructor(
    readonly text: string,
    readonly position: number,
    readonly problem: string,
    /** The way out: a question what a word with a mistake in it may have meant, or a sentence. */
    wayOut = "",
  ) {
    super(`${problem.slice(0, 1).toUpperCase()}${problem.slice(1)}, at character ${position + 1}.${wayOut && ` ${wayOut}`}`);
  }
}

/** The blob of the recording that a condition names; null: the thing is another one. */
export const blobOf = (thing: string): string | null => (thing.startsWith(":") ? thing.slice(1) : null);

/** A field as one writes it. */
export const nameOf = ({ thing, attribute }: Pick<Field, "thing" | "attribute">): string => `${blobOf(thing) ?? thing}${attribute && `.${attribute}`}`;

/** Each thing and field that a condition asks for. */
export function mentioned(node: Node): Field[] {
  return node.kind === "field" ? [node] : node.kind === "operation" ? node.parts.flatMap(mentioned) : [];
}

const ORDER = ["<", "<=", ">", ">="];
/** The signs from those that bind least; of the prefixes the level has its signs before a value, others between two. */
const LEVELS = [["or"], ["and"], ["not"], [...ORDER, "==", "!=", "in"], ["+", "-"], ["*", "/", "%"], ["-"]];
const PREFIXES: Record<number, string> = { 2: "not", 6: "negative" };
const COMPARISON = 3;
export const OWN_WORDS = ["and", "or", "not", "in"];

/** Things that stand for their names. */
const NAMED: Type[] = ["event", "op", "blob"];

/** The types of what stands to the left and to the right of a sign. */
function takes(sign: string): readonly [Type[], Type[]] {
  if (sign.endsWith("in")) return [["number", "text", ...NAMED], ["list", "text", ...NAMED]];
  const types: Type[] = sign === "==" || sign === "!=" ? ["number", "text", "list", ...NAMED] : ["number"];
  return [types, types];
}

const TOKEN = new RegExp(
  [
    "(?<number>([0-9]+(\\.[0-9]+)?|\\.[0-9]+)([eE][+-]?[0-9]+)?)",
    "(?<blob>[A-Za-z_][A-Za-z0-9_]*@[0-9]+|`[^`]+`)",
    "(?<name>[A-Za-z_][A-Za-z0-9_]*)",
    `(?<text>'(\\\\.|[^'\\\\])*'|"(\\\\.|[^"\\\\])*")`,
    "(?<sign><=|>=|==|!=|[<>+\\-*/%().,[\\]])",
    "(?<space>[ \\t\\r\\n]+)",
  ].join("|"),
  "usy",
);

interface Token {
  /** "number", "text", "blob", "name", "end"; a sign or a word of the grammar is its own kind. */
  kind: string;
  text: string;
  /** The position of its first character. Characters are those of Unicode, not the halves of them that strings have. */
  at: number;
}

/** The tokens of a text from a place in the string on, the end last. */
function tokens(text: string, start: number): Token[] {
  if ([...text].length > LONGEST) throw new ConditionError(text, LONGEST, `a condition has at most ${LONGEST} characters`);
  const characters = (place: number): number => [...text.slice(0, place)].length;
  const result: Token[] = [];
  for (let at = start; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) throw new ConditionError(text, characters(at), noToken(text, at));
    const [kind = ""] = Object.entries(match.groups ?? {}).find(([, group]) => group !== undefined) ?? [];
    if (kind !== "space") result.push(token(kind, match[0], characters(at)));
  }
  return [...result, { kind: "end", text: "", at: characters(text.length) }];
}

function token(kind: string, source: string, at: number): Token {
  if (kind === "text") return { kind, text: source.slice(1, -1).replace(/\\(.)/gsu, "$1"), at };
  const isOwn = kind === "sign" || OWN_WORDS.includes(source);
  return { kind: isOwn ? source : kind, text: source.replace(/`/g, ""), at };
}

function noToken(text: string, at: number): string {
  const first = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (text.startsWith("``", at)) return "a blob has a name";
  return "'\"`".includes(first) ? `what begins with ${first} has no end` : `“${first}” is no part of a condition`;
}

/**
 * The nodes of the expression that a text has from a place in the string on, of any type. `namesBlob` says whether a word
 * of the language means a blob of that name all the same. Throws a ConditionError with the position.
 */
export function parse(text: string, start = 0, namesBlob: (name: string) => boolean = () => false): Node {
  return new Parser(text, start, namesBlob).whole();
}

/** The node, if it is a condition. */
export function truth(text: string, node: Node): Node {
  if (node.type !== "truth") throw new ConditionError(text, node.at, `this is ${a(node.type)}, which is neither true nor false`);
  return node;
}

class Parser {
  private readonly tokens: Token[];
  private next = 0;
  private open = 0;

  constructor(
    private readonly text: string,
    start: number,
    private readonly namesBlob: (name: string) => boolean,
  ) {
    this.tokens = tokens(text, start);
  }

  whole(): Node {
    const node = this.inside();
    if (this.token.kind !== "end") throw this.unexpected();
    return node;
  }

  private get token(): Token {
    return this.tokens[this.next] as Token;
  }

  private take(...kinds: string[]): Token | undefined {
    const { token } = this;
    if (!kinds.includes(token.kind)) return undefined;
    this.next++;
    return token;
  }

  private demand(kind: string): void {
    if (!this.take(kind)) throw this.unexpected(`${kind} is missing`);
  }

  private unexpected(wanted = ""): ConditionError {
    const { kind, text, at } = this.token;
    return this.wrong(at, wanted || (kind === "end" ? "the condition stops too early" : `“${text}” makes no sense here`));
  }

  private wrong(at: number, problem: string, question = ""): ConditionError {
    return new ConditionError(this.text, at, problem, question);
  }

  private bounded(depth: number, at: number): number {
    if (depth > DEEPEST) throw this.wrong(at, `this is nested more than ${DEEPEST} deep`);
    return depth;
  }

  /** A node over others. */
  private operation(sign: string, at: number, type: Type, ...parts: Node[]): Node {
    const depth = this.bounded(1 + Math.max(0, ...parts.map((part) => part.depth)), at);
    return { kind: "operation", at, type, depth, sign, parts };
  }

  /** What a level reads inside of something that was opened. */
  private inside(level = 0, at = this.token.at): Node {
    this.open = this.bounded(this.open + 1, at);
    const node = this.level(level);
    this.open--;
    return node;
  }

  /** What the signs of a level, and those that bind more, join. */
  private level(level: number): Node {
    const signs = LEVELS[level];
    if (!signs) return this.attribute();
    const prefix = PREFIXES[level];
    if (prefix !== undefined) {
      const token = this.take(...signs);
      return token ? this.prefixed(prefix, level, token) : this.level(level + 1);
    }
    let left = this.level(level + 1);
    const parts = [left];
    const { at } = left;
    for (let sign = this.sign(level); sign !== ""; sign = this.sign(level)) {
      const right = this.level(level + 1);
      if (level < COMPARISON) parts.push(right);
      else {
        takes(sign).forEach((types, side) => this.want(side === 0 ? left : right, types, sign));
        const pair = this.operation(sign, at, level === COMPARISON ? "truth" : "number", left, right);
        // a < b < c is a < b and b < c.
        if (level > COMPARISON || parts[0] === left) parts[0] = pair;
        else parts.push(pair);
        left = level > COMPARISON ? pair : right;
      }
    }
    if (parts.length === 1) return parts[0] as Node;
    if (level === COMPARISON) return { kind: "operation", at, type: "truth", depth: Math.max(...parts.map(({ depth }) => depth)), sign: "and", parts };
    for (const part of parts) this.want(part, ["truth"], signs[0] ?? "");
    return this.operation(signs[0] ?? "", at, "truth", ...parts);
  }

  private prefixed(sign: string, level: number, { at, text }: Token): Node {
    const of = this.inside(level, at);
    this.want(of, [sign === "not" ? "truth" : "number"], text);
    return this.operation(sign, at, of.type, of);
  }

  private sign(level: number): string {
    const token = this.take(...(LEVELS[level] ?? []));
    if (token) return token.kind;
    if (level !== COMPARISON || this.token.kind !== "not" || this.tokens[this.next + 1]?.kind !== "in") return "";
    this.next += 2;
    return "not in";
  }

  private attribute(): Node {
    let node = this.primary();
    while (this.take(".")) {
      const name = this.token;
      if (name.kind !== "name") throw this.unexpected("behind a point stands the name of a field");
      this.next++;
      const fields = (node.kind === "field" && own(FIELDS, node.type)) || {};
      const type = own(fields, name.text);
      if (node.kind !== "field" || !type) throw this.wrong(name.at, `${a(node.type)} has no “${name.text}”`, meant(name.text, Object.keys(fields)));
      node = { ...node, type, attribute: name.text };
    }
    return node;
  }

  private primary(): Node {
    const token = this.take("number", "text", "blob", "name", "(", "[");
    if (!token) throw this.unexpected();
    const { kind, at, text } = token;
    if (kind === "number") return { kind: "constant", at, type: kind, depth: 1, value: Number(text) };
    if (kind === "text") return { kind: "constant", at, type: kind, depth: 1, value: text };
    if (kind === "[") return this.list(at);
    if (kind === "name" && this.token.kind === "(") return this.call(token);
    if (kind !== "(") return this.name(token);
    const inside = this.inside();
    this.demand(")");
    return inside;
  }

  private name({ kind, at, text }: Token): Node {
    const word = kind === "blob" || this.namesBlob(text) ? undefined : own(NAMES, text);
    const [thing, attribute] = word ?? [`:${text}`, ""];
    const type = own(THINGS, thing) ?? "blob";
    return { kind: "field", at, type: FIELDS[type]?.[attribute] ?? type, depth: 1, thing, attribute };
  }

  private call({ at, text: name }: Token): Node {
    this.demand("(");
    const argument = this.inside();
    this.demand(")");
    if (STATISTICS.includes(name)) {
      this.want(argument, ["blob"], name);
      return { ...(argument as Field), at, type: "number", attribute: name };
    }
    const signature = own(FUNCTIONS, name);
    if (!signature) throw this.wrong(at, `there is no function “${name}”`, meant(name, [...Object.keys(FUNCTIONS), ...STATISTICS]));
    this.want(argument, signature[0], name);
    return this.operation(name, at, signature[1], argument);
  }

  private list(at: number): Node {
    const items: Node[] = [];
    while (this.token.kind !== "]") {
      const item = this.inside();
      this.want(item, ["number", "text"], "a list");
      items.push(item);
      if (!this.take(",")) break;
    }
    this.demand("]");
    return this.operation("[", at, "list", ...items);
  }

  private want(node: Node, types: readonly Type[], what: string): void {
    if (types.includes(node.type)) return;
    const word = node.kind === "field" && node.type === "blob" && node.attribute === "" ? node.thing.replace(/^:/, "") : "";
    throw this.wrong(node.at, `${what} takes ${types.map(a).join(" or ")}, and this is ${a(node.type)}`, meant(word, Object.keys(NAMES).filter((one) => one !== word)));
  }
}

/** An entry of a table, and not what every object has: a blob may be called "constructor". */
function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** The type with its article. */
function a(type: Type): string {
  const names: Partial<Record<Type, string>> = { op: "an operator", inputs: "the inputs", event: "an event", truth: "true or false" };
  return names[type] ?? `a ${type}`;
}

/** Null: not computed; of a truth: unknown. */
export type Result = number | string | boolean | (number | string)[] | null;

/** Gives a field of a thing, or where the attribute is empty its name; null: not computed. */
export type Find = (thing: string, attribute: string) => Result;

/** What a condition gives; it never throws. */
export function evaluate(node: Node, find: Find): Result {
  if (node.kind === "constant") return node.value;
  if (node.kind === "field") return find(node.thing, node.attribute);
  const { sign, parts } = node;
  if (sign === "and" || sign === "or") return joined(parts, find, sign === "or");
  const [first] = parts;
  if (first?.kind === "field" && first.type === "blob" && sign.startsWith("is")) {
    // isnan and isinf of a blob ask for its elements.
    const count = find(first.thing, sign.slice(2));
    return count === null ? null : Number(count) > 0;
  }
  const values = parts.map((part) => evaluate(part, find));
  return values.includes(null) ? null : (OPERATIONS[sign]?.(...values) ?? null);
}

/** `decides` where one part gives that; else unknown where one is; else the opposite. */
function joined(parts: Node[], find: Find, decides: boolean): boolean | null {
  let result: boolean | null = !decides;
  for (const part of parts) {
    const value = evaluate(part, find);
    if (value === null) result = null;
    else if (value === decides) return decides;
  }
  return result;
}

type Operation = (...values: Result[]) => Result;

const numeric = (of: (...numbers: number[]) => number | boolean): Operation => (...values) => of(...(values as number[]));

const OPERATIONS: Record<string, Operation> = {
  not: (value) => !value,
  negative: numeric((a) => -a),
  "+": numeric((a, b) => a + b),
  "-": numeric((a, b) => a - b),
  "*": numeric((a, b) => a * b),
  "/": numeric((a, b) => a / b),
  "%": numeric((a, b) => (Number.isFinite(a / b) ? a - b * Math.floor(a / b) : NaN)),
  "<": numeric((a, b) => a < b),
  "<=": numeric((a, b) => a <= b),
  ">": numeric((a, b) => a > b),
  ">=": numeric((a, b) => a >= b),
  "==": (a, b) => equal(a, b),
  "!=": (a, b) => !equal(a, b),
  in: (a, b) => within(a, b),
  "not in": (a, b) => !within(a, b),
  abs: numeric(Math.abs),
  log10: numeric(Math.log10),
  len: (value) => (typeof value === "string" ? [...value] : (value as unknown[])).length,
  isnan: numeric(Number.isNaN),
  isinf: numeric((a) => Math.abs(a) === Infinity),
  "[": (...items) => items as (number | string)[],
};

/** A text "a@1" also equals "a": a name without a version means each. */
function equal(a: Result | undefined, b: Result | undefined): boolean {
  if (typeof a === "string" && typeof b === "string") return a === b || bare(a) === b || a === bare(b);
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, index) => equal(one, b[index]));
  return a === b;
}

function within(a: Result | undefined, b: Result | undefined): boolean {
  if (Array.isArray(b)) return b.some((item) => equal(a, item));
  return typeof a === "string" && typeof b === "string" && b.includes(a);
}

/** A result as a person reads it, the same in every language: "12.5", "1.2e-7", "not computed". */
export function shown(value: Result): string {
  if (value === null) return "not computed";
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  return typeof value === "number" ? number(value) : String(value);
}

function number(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "-∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value === 0 ? 0 : value);
  const [mantissa, exponent] = value.toExponential(3).split("e").map(Number) as [number, number];
  if (exponent >= 6 || exponent < -5) return `${mantissa}e${exponent}`;
  return exponent >= 0 ? String(Number(`${mantissa}e${exponent}`)) : Number(`${mantissa}e${exponent}`).toFixed(3 - exponent).replace(/\.?0+$/, "");
}
