// From the text of a condition to its nodes: one function for each rule of the grammar, types checked on the way.

import { FIELDS, FUNCTIONS, NAMES, STATISTICS, THINGS, type Field, type Node, type Type } from "./nodes";
import { ConditionError, tokens, type Token } from "./tokens";

/** Nodes that may lie one inside the other. */
const DEEPEST = 32;
const ORDER = ["<", "<=", ">", ">="];
const COMPARISONS = [...ORDER, "==", "!=", "in"];
/** Things that stand for their names. */
const NAMED: Type[] = ["event", "op", "blob"];

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
  private readonly found: Token[];
  private next = 0;
  private open = 0;

  constructor(
    private readonly text: string,
    start: number,
    private readonly namesBlob: (name: string) => boolean,
  ) {
    this.found = tokens(text, start);
  }

  whole(): Node {
    const node = this.or();
    if (this.token.kind !== "end") throw this.unexpected();
    return node;
  }

  private get token(): Token {
    return this.found[this.next] ?? { kind: "end", text: "", at: this.text.length };
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

  private wrong(at: number, problem: string): ConditionError {
    return new ConditionError(this.text, at, problem);
  }

  /** The depth of a node over others. */
  private above(at: number, ...inside: Node[]): number {
    const depth = 1 + Math.max(...inside.map((node) => node.depth));
    if (depth > DEEPEST) throw this.wrong(at, `this is nested more than ${DEEPEST} deep`);
    return depth;
  }

  private within<T>(at: number, read: () => T): T {
    this.open++;
    if (this.open > DEEPEST) throw this.wrong(at, `this is nested more than ${DEEPEST} deep`);
    const result = read();
    this.open--;
    return result;
  }

  private or(): Node {
    const parts = this.within(this.token.at, () => {
      const some = [this.and()];
      while (this.take("or")) some.push(this.and());
      return some;
    });
    return this.joined("or", parts);
  }

  private and(): Node {
    const parts = [this.not()];
    while (this.take("and")) parts.push(this.not());
    return this.joined("and", parts);
  }

  private joined(kind: "and" | "or", parts: Node[]): Node {
    const [first] = parts;
    if (!first || parts.length === 1) return first as Node;
    for (const part of parts) this.want(part, ["truth"], kind);
    return { kind, at: first.at, type: "truth", depth: this.above(first.at, ...parts), parts };
  }

  private not(): Node {
    const token = this.take("not");
    if (!token) return this.comparison();
    const of = this.within(token.at, () => this.not());
    this.want(of, ["truth"], "not");
    return { kind: "not", at: token.at, type: "truth", depth: this.above(token.at, of), of };
  }

  private comparison(): Node {
    const first = this.sum();
    const rest: [string, Node][] = [];
    let left = first;
    for (let sign = this.sign(); sign !== ""; sign = this.sign()) {
      const right = this.sum();
      this.checkSides(sign, left, right);
      rest.push([sign, right]);
      left = right;
    }
    if (rest.length === 0) return first;
    return { kind: "comparison", at: first.at, type: "truth", depth: this.above(first.at, first, ...rest.map(([, one]) => one)), first, rest };
  }

  private sign(): string {
    const token = this.take(...COMPARISONS);
    if (token) return token.kind;
    if (this.token.kind !== "not" || this.found[this.next + 1]?.kind !== "in") return "";
    this.next += 2;
    return "not in";
  }

  private checkSides(sign: string, left: Node, right: Node): void {
    if (ORDER.includes(sign)) {
      this.want(left, ["number"], sign);
      this.want(right, ["number"], sign);
    } else if (sign.endsWith("in")) {
      this.want(left, ["number", "text", ...NAMED], sign);
      this.want(right, ["list", "text", ...NAMED], sign);
    } else for (const side of [left, right]) this.want(side, ["number", "text", "list", ...NAMED], sign);
  }

  private sum(): Node {
    let node = this.product();
    for (let sign = this.take("+", "-"); sign; sign = this.take("+", "-")) node = this.arithmetic(sign.kind, node, this.product());
    return node;
  }

  private product(): Node {
    let node = this.unary();
    for (let sign = this.take("*", "/", "%"); sign; sign = this.take("*", "/", "%")) node = this.arithmetic(sign.kind, node, this.unary());
    return node;
  }

  private arithmetic(sign: string, left: Node, right: Node): Node {
    this.want(left, ["number"], sign);
    this.want(right, ["number"], sign);
    return { kind: "arithmetic", at: left.at, type: "number", depth: this.above(left.at, left, right), sign, left, right };
  }

  private unary(): Node {
    const token = this.take("-");
    if (!token) return this.attribute();
    const of = this.within(token.at, () => this.unary());
    this.want(of, ["number"], "-");
    return { kind: "negative", at: token.at, type: "number", depth: this.above(token.at, of), of };
  }

  private attribute(): Node {
    let node = this.primary();
    while (this.take(".")) {
      const name = this.token;
      if (name.kind !== "name") throw this.unexpected("behind a point stands the name of a field");
      this.next++;
      node = this.field(node, name);
    }
    return node;
  }

  private field(node: Node, name: Token): Node {
    const fields = node.kind === "field" ? FIELDS[node.type] : undefined;
    const type = fields && Object.hasOwn(fields, name.text) ? fields[name.text] : undefined;
    if (node.kind !== "field" || !type) throw this.wrong(name.at, `${a(node.type)} has no “${name.text}”`);
    return { ...node, type, attribute: name.text };
  }

  private primary(): Node {
    const { token } = this;
    const { at, text } = token;
    this.next++;
    switch (token.kind) {
      case "number":
        return { kind: "number", at, type: "number", depth: 1, value: Number(text) };
      case "text":
        return { kind: "text", at, type: "text", depth: 1, value: text };
      case "blob":
        return this.thing(at, `:${text}`);
      case "name":
        return this.token.kind === "(" ? this.call(token) : this.name(token);
      case "(": {
        const inside = this.or();
        this.demand(")");
        return inside;
      }
      case "[":
        return this.list(at);
      default:
        this.next--;
        throw this.unexpected();
    }
  }

  private thing(at: number, thing: string, attribute = "", type: Type = "blob"): Field {
    return { kind: "field", at, type, depth: 1, thing, attribute };
  }

  private name({ at, text }: Token): Node {
    const word = NAMES.get(text);
    if (!word || this.namesBlob(text)) return this.thing(at, `:${text}`);
    const [thing, attribute] = word;
    const type = THINGS[thing] ?? "blob";
    return this.thing(at, thing, attribute, attribute === "" ? type : FIELDS[type]?.[attribute]);
  }

  private call({ at, text: name }: Token): Node {
    this.demand("(");
    const argument = this.or();
    this.demand(")");
    if ((STATISTICS as readonly string[]).includes(name)) {
      this.want(argument, ["blob"], name);
      return this.thing(at, (argument as Field).thing, name, "number");
    }
    const known = FUNCTIONS.get(name);
    if (!known) throw this.wrong(at, `there is no function “${name}”`);
    const [takes, type] = known;
    this.want(argument, takes, name);
    return { kind: "call", at, type, depth: this.above(at, argument), name, argument };
  }

  private list(at: number): Node {
    const items: Node[] = [];
    while (this.token.kind !== "]") {
      const item = this.or();
      this.want(item, ["number", "text"], "a list");
      items.push(item);
      if (!this.take(",")) break;
    }
    this.demand("]");
    return { kind: "list", at, type: "list", depth: items.length > 0 ? this.above(at, ...items) : 1, items };
  }

  private want(node: Node, types: readonly Type[], what: string): void {
    if (types.includes(node.type)) return;
    throw this.wrong(node.at, `${what} takes ${types.map(a).join(" or ")}, and this is ${a(node.type)}`);
  }
}

/** The type with its article. */
function a(type: Type): string {
  const names: Partial<Record<Type, string>> = { op: "an operator", inputs: "the inputs", event: "an event", truth: "true or false" };
  return names[type] ?? `a ${type}`;
}
