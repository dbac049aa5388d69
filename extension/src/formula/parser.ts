// Reads a formula of the operator table, "dx = dy · x / √(1 - x²)³" in plain text, as what it looks like in print: scripts,
// roots, brackets, fractions. First it is cut into tokens.
//
// A slash with space around it divides the whole product before it, as far as a sum or a fraction there, by what stands
// close together behind it: "Σᵢ a · b / 3y²" is the sum over i of (a · b) / (3y²). One without space divides its neighbours.

interface Token {
  kind: "name" | "word" | "number" | "big" | "root" | "sign" | "open" | "close" | "sub" | "sup" | "prime" | "code";
  text: string;
  /** There is white space before it. */
  gap: boolean;
  /** Where it stands in the text. */
  start: number;
  end: number;
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ˣʸᵀᵖⁿ";
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉ᵢⱼₖₗₛᵣₙₘ";
const PLAIN = new Map([...SUPERSCRIPTS].map((raised, index) => [raised, "0123456789−+xyTpn".charAt(index)]));
[...SUBSCRIPTS].forEach((lowered, index) => PLAIN.set(lowered, "0123456789ijklsrnm".charAt(index)));

const LETTER = "A-Za-zα-ωΦ";

/** In this order: what stands first wins. A word becomes a name when the parser knows it. */
const KINDS: [kind: Token["kind"] | "space", pattern: RegExp][] = [
  ["space", /\s+/y],
  ["code", /`[^`]*`/y],
  ["number", /\d+(?:\.\d+)?|½/y],
  ["word", new RegExp(`fan (?:in|out)\\b|[a-z]{2,}-[a-z]{2,}|∂?[${LETTER}](?:[${LETTER}0-9_]|\\u0302)*`, "y")],
  ["sub", new RegExp(`[${SUBSCRIPTS}]+|_[a-z](?:,[a-z])*`, "y")],
  ["sup", new RegExp(`[${SUPERSCRIPTS}]+`, "y")],
  ["prime", /'+/y],
  ["big", /[ΣΠ∫]/y],
  ["root", /[√∛]/y],
  ["sign", /\+=|->|\.\.\./y],
  // "<a, b>" is a product: its brackets stand close to what they hold, comparisons do not.
  ["open", /[([{⌈⌊]|<(?=\S)/y],
  ["close", /[)\]}⌉⌋]|(?<=\S)>/y],
  ["sign", /[-+·/=<>≤≥≠∧∨¬⊻~^,;:.|]/y],
];

/** The tokens of a formula; null where it has a character that no formula has. */
export function tokensOf(text: string): Token[] | null {
  const tokens: Token[] = [];
  let gap = false;
  for (let at = 0; at < text.length; ) {
    const kindAndText = match(text, at);
    if (!kindAndText) return null;
    const [kind, matched] = kindAndText;
    if (kind !== "space") tokens.push({ kind, text: matched, gap, start: at, end: at + matched.length });
    gap = kind === "space";
    at += matched.length;
  }
  return withBars(tokens);
}

function match(text: string, at: number): [kind: Token["kind"] | "space", matched: string] | null {
  for (const [kind, pattern] of KINDS) {
    pattern.lastIndex = at;
    const matched = pattern.exec(text)?.[0];
    if (matched) return [kind, matched];
  }
  return null;
}

/** Bars open and close in turn: none of the table's formulas has a magnitude within a magnitude. */
function withBars(tokens: Token[]): Token[] {
  let isOpen = false;
  return tokens.map((token) => {
    if (token.kind !== "sign" || token.text !== "|") return token;
    isOpen = !isOpen;
    return { ...token, kind: isOpen ? "open" : "close" };
  });
}

/** The characters of a script on the line: "⁻ˣ" -> "−x", "_c,k" -> "c,k". */
export function onTheLine(script: string): string {
  return [...script.replace(/^_/, "")].map((one) => PLAIN.get(one) ?? one).join("");
}

/** A part of a formula; `gap`: the text has white space before it. */
export type Part = { gap: boolean } & (
  | { kind: "name" | "word" | "number" | "sign" | "big"; text: string }
  | { kind: "group"; open: string; close: string; items: Part[] }
  | { kind: "root"; degree: string; of: Part }
  | { kind: "script"; base: Part; sub: string; sup: string }
  | { kind: "fraction"; top: Part[]; bottom: Part[] }
);

/** Longer or deeper than any formula of the table; bounds, since a trace may come from anywhere. */
const LONGEST = 2000;
const DEPTH = 20;

/** The parts of a formula about `names`; null where it is none that can be read. */
export function parse(text: string, names: ReadonlySet<string>): Part[] | null {
  const tokens = text.length > LONGEST ? null : tokensOf(text);
  if (!tokens) return null;
  const reader = new Reader(tokens.map((token) => (token.kind === "word" && isName(token.text, names) ? { ...token, kind: "name" } : token)));
  const parts = reader.row(0);
  return parts && reader.isAtEnd ? parts : null;
}

/** Whether a word stands for something that can have a value: names of inputs and outputs, their gradients, letters. */
export function isName(word: string, names: ReadonlySet<string>): boolean {
  const stem = word.replace(/^∂/, "");
  if (names.has(stem) || (stem.startsWith("d") && names.has(stem.slice(1)))) return true;
  return word !== "a" && /^∂?d?[A-Za-zα-ωΦ]\u0302?\d*$/.test(word);
}

class Reader {
  private at = 0;

  constructor(private readonly tokens: Token[]) {}

  get isAtEnd(): boolean {
    return this.at === this.tokens.length;
  }

  /** Parts up to the end or a closing bracket; null where something does not fit. */
  row(depth: number): Part[] | null {
    const parts: Part[] = [];
    while (!this.isAtEnd && this.tokens[this.at]?.kind !== "close") {
      const part = this.scripted(depth);
      if (!part) return null;
      parts.push(part);
    }
    return withFractions(parts);
  }

  /** A part with the scripts behind it. */
  private scripted(depth: number): Part | null {
    const base = this.plain(depth);
    if (!base) return null;
    const sub = this.script("sub");
    const sup = this.script("sup") + this.script("prime").replace(/'/g, "′");
    const raised = sup === "" && this.tokens[this.at]?.text === "^" ? this.power(depth) : null;
    const more = sub === "" ? this.script("sub") : "";
    if (raised) return { kind: "script", base, sub, sup: raised, gap: base.gap };
    return sub + sup + more === "" ? base : { kind: "script", base, sub: sub + more, sup, gap: base.gap };
  }

  private script(kind: Token["kind"]): string {
    const token = this.tokens[this.at];
    if (token?.kind !== kind || token.gap) return "";
    this.at++;
    return onTheLine(token.text);
  }

  /** What stands behind "^", as text: "x^exponent", "x^(e - 1)". */
  private power(depth: number): string | null {
    this.at++;
    const part = this.plain(depth + 1);
    if (!part || part.kind === "fraction" || part.kind === "script" || part.kind === "root") return null;
    if (part.kind !== "group") return part.text;
    const items = part.items.map((item) => ("text" in item ? item.text : null));
    return items.includes(null) ? null : items.join("\u2009").replace(/-/g, "−").replace(/^−\u2009/, "−");
  }

  private plain(depth: number): Part | null {
    const token = this.tokens[this.at++];
    if (!token || depth > DEPTH) return null;
    const { kind, text, gap } = token;
    if (kind === "code") return { kind: "word", text: text.slice(1, -1), gap };
    if (kind === "root") return this.root(token, depth);
    if (kind === "open") return this.group(token, depth);
    if (kind === "name" || kind === "word" || kind === "number" || kind === "sign" || kind === "big") return { kind, text, gap };
    return null;
  }

  /** Of what stands next with its subscript; a power behind is one of the root. Of a sum all of it. */
  private root({ text, gap }: Token, depth: number): Part | null {
    const degree = text === "∛" ? "3" : "";
    if (this.tokens[this.at]?.kind === "big") {
      const items = this.row(depth + 1);
      return items && { kind: "root", degree, of: { kind: "group", open: "", close: "", items, gap: false }, gap };
    }
    const base = this.plain(depth + 1);
    if (!base) return null;
    const sub = this.script("sub");
    const of: Part = base.kind === "group" && base.open === "(" ? { ...base, open: "", close: "" } : base;
    return { kind: "root", degree, of: sub ? { kind: "script", base: of, sub, sup: "", gap: false } : of, gap };
  }

  /** Any bracket closes any other: "[0, 1)". */
  private group({ text, gap }: Token, depth: number): Part | null {
    const items = this.row(depth + 1);
    const close = this.tokens[this.at];
    if (!items || close?.kind !== "close") return null;
    this.at++;
    const isProduct = text === "<";
    return { kind: "group", open: isProduct ? "⟨" : text, close: isProduct ? "⟩" : close.text, items, gap };
  }
}

const isSlash = (part: Part | undefined): boolean => part?.kind === "sign" && part.text === "/";
const isDot = (part: Part | undefined): boolean => part?.kind === "sign" && part.text === "·";

/** Whether a part goes into a product. */
function isFactor(part: Part | undefined): part is Part {
  return part !== undefined && part.kind !== "sign" && part.kind !== "fraction" && !isSum(part);
}

function isSum(part: Part): boolean {
  return part.kind === "big" || (part.kind === "script" && part.base.kind === "big");
}

/** The parts with a fraction for each slash; null where one has nothing to divide. */
function withFractions(parts: Part[]): Part[] | null {
  const result: Part[] = [];
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at];
    if (!part) break;
    if (!isSlash(part)) {
      result.push(part);
      continue;
    }
    const isTight = !part.gap;
    const top = isTight ? result.splice(-1) : result.splice(startOfProduct(result));
    const bottom = isTight ? parts.slice(at + 1, at + 2) : behind(parts, at + 1);
    if (top.length === 0 || bottom.length === 0) return null;
    result.push({ kind: "fraction", top: unwrapped(top), bottom: unwrapped(bottom), gap: top[0]?.gap ?? false });
    at += bottom.length;
  }
  return result;
}

/** Where the product begins that the parts end with. */
function startOfProduct(parts: Part[]): number {
  let start = parts.length;
  // A word further before is part of a sentence, which is not divided.
  while (isProductPart(parts[start - 1]) && (start === parts.length || !isPlainWord(parts, start - 1))) start--;
  return isDot(parts[start]) ? start + 1 : start;
}

const isProductPart = (part: Part | undefined): boolean => isFactor(part) || isDot(part);

/** Whether there is a word that is no function of what stands behind it. */
function isPlainWord(parts: Part[], index: number): boolean {
  const [word, next] = [parts[index], parts[index + 1]];
  return word?.kind === "word" && !FUNCTIONS.has(word.text) && (next?.kind !== "group" || next.gap);
}

export const FUNCTIONS: ReadonlySet<string> = new Set(
  "sin cos tan sinh cosh tanh arcsin arccos arctan exp ln sign max min argmax argmin logit softmax".split(" "),
);

/** The parts from one on that stand close together: a product without dots, of words only the first. */
function behind(parts: Part[], start: number): Part[] {
  let end = start;
  while (end < parts.length && (isFactor(parts[end]) || (end === start && isSum(parts[end] as Part)))) {
    const isEnd = isPlainWord(parts, end);
    if (isEnd && end > start) break;
    end++;
    if (isEnd) break;
  }
  return parts.slice(start, end);
}

/** Above and below a fraction's line a lone pair of brackets says nothing. */
function unwrapped(parts: Part[]): Part[] {
  const [only] = parts;
  return parts.length === 1 && only?.kind === "group" && only.open === "(" && only.close === ")" ? only.items : parts;
}
