// Cuts a formula of the operator table into tokens: "dx = dy · x / √(1 - x²)³", as plain text has it.

export interface Token {
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
    const found = match(text, at);
    if (!found) return null;
    const [kind, matched] = found;
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
