// The tokens of a condition, a small language about an event, its operator and a blob. Its grammar and its meaning stand
// in gradviz/debugger/steering/conditions/__init__.py; tests/debugger/steering/conditions/table.json holds both readers
// to them.

/** Characters of a condition. */
const LONGEST = 500;
const WORDS = ["and", "or", "not", "in"];
const ENDS: Record<string, "text" | "blob"> = { "'": "text", '"': "text", "`": "blob" };
const NUMBER = /([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?/uy;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/uy;
const VERSION = /@[0-9]+/uy;
const SIGN = /<=|>=|==|!=|[<>+\-*/%().,[\]]/uy;

export interface Token {
  /** "number", "text", "blob", "name", "end"; a sign or a word of the grammar is its own kind. */
  kind: string;
  text: string;
  /** The position of its first character. Characters are those of Unicode, not the halves of them that strings have. */
  at: number;
}

/** A text that says nothing, and the character where it stops making sense. */
export class ConditionError extends Error {
  constructor(
    readonly text: string,
    readonly position: number,
    readonly problem: string,
  ) {
    super(`${problem.slice(0, 1).toUpperCase()}${problem.slice(1)}, at character ${position + 1}.`);
  }
}

/** The tokens of a text from a place in the string on, the end last. */
export function tokens(text: string, start = 0): Token[] {
  if ([...text].length > LONGEST) throw new ConditionError(text, LONGEST, `a condition has at most ${LONGEST} characters`);
  const found: Token[] = [];
  const add = (kind: string, said: string, from: number): void => void found.push({ kind, text: said, at: characters(text, from) });
  let at = start;
  const match = (pattern: RegExp, from: number): string | undefined => {
    pattern.lastIndex = from;
    return pattern.exec(text)?.[0];
  };
  while (at < text.length) {
    const first = text[at] ?? "";
    if (" \t\r\n".includes(first)) {
      at++;
      continue;
    }
    if (first in ENDS) {
      const [said, behind] = quoted(text, at, first);
      add(ENDS[first] ?? "text", said, at);
      at = behind;
      continue;
    }
    const number = match(NUMBER, at);
    const name = number === undefined ? match(NAME, at) : undefined;
    const version = name === undefined ? undefined : match(VERSION, at + name.length);
    const sign = match(SIGN, at);
    if (number !== undefined) add("number", number, at);
    else if (name !== undefined && version !== undefined) add("blob", name + version, at);
    else if (name !== undefined) add(WORDS.includes(name) ? name : "name", name, at);
    else if (sign !== undefined) add(sign, sign, at);
    else throw new ConditionError(text, characters(text, at), `“${String.fromCodePoint(text.codePointAt(at) ?? 0)}” is no part of a condition`);
    at += (number ?? (name === undefined ? (sign ?? "") : name + (version ?? ""))).length;
  }
  add("end", "", text.length);
  return found;
}

/** How many characters stand before a place in the string. */
function characters(text: string, place: number): number {
  return [...text.slice(0, place)].length;
}

/** What stands between two quotes or backticks, and the place behind them. */
function quoted(text: string, at: number, end: string): [string, number] {
  let inside = "";
  let behind = at + 1;
  while (behind < text.length && text[behind] !== end) {
    if (text[behind] === "\\" && end !== "`" && behind + 1 < text.length) behind++;
    inside += text[behind] ?? "";
    behind++;
  }
  if (behind >= text.length) throw new ConditionError(text, characters(text, at), `what begins with ${end} has no end`);
  if (end === "`" && inside === "") throw new ConditionError(text, characters(text, at), "a blob has a name");
  return [inside, behind + 1];
}
