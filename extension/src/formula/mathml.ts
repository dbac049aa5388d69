// A formula as MathML, which browsers draw without any library and screen readers read: a tree of elements, then a page's.

import { isName, onTheLine, parse, tokensOf, FUNCTIONS, type Part } from "./parser";

export interface Markup {
  tag: string;
  attributes: Record<string, string>;
  children: (Markup | string)[];
}

/** What to write for a name of a formula; null: the name itself. */
export type Naming = (name: string) => Noun | null;

/** A blob, or its gradient. */
export interface Noun {
  blob: string;
  isGradient: boolean;
}

export function markup(tag: string, ...children: (Markup | string)[]): Markup {
  return { tag, attributes: {}, children };
}

const identifier = (text: string): Markup => markup("mi", text);
export const sign = (text: string): Markup => markup("mo", text);
const number = (text: string): Markup => markup("mn", text);
export const words = (text: string): Markup => markup("mtext", text);
export const row = (...children: Markup[]): Markup => (children.length === 1 && children[0] ? children[0] : markup("mrow", ...children));
const space = (): Markup => ({ tag: "mspace", attributes: { width: "0.2em" }, children: [] });

/** "a", or "∂a" for its gradient. */
export function noun({ blob, isGradient }: Noun): Markup {
  return isGradient ? row(identifier("∂"), identifier(blob)) : identifier(blob);
}

export const nounText = ({ blob, isGradient }: Noun): string => (isGradient ? `∂${blob}` : blob);

/** A formula in print and in words. */
export interface Printed {
  markup: Markup[];
  text: string;
}

/** "a", or "∂a": what a blob or its gradient is called. */
export const named = (one: Noun): Printed => ({ markup: [noun(one)], text: nounText(one) });

/** Numbers as they are shown; MathML takes a text for a space. */
export const numeral = (text: string): Printed => ({ markup: [number(text)], text });

/** Sides of an equation, terms of a sum, factors: with a sign between them. */
export function joinedBy(between: string, parts: readonly Printed[]): Printed {
  const shown = parts.flatMap((part, index) => (index === 0 ? part.markup : [sign(between), ...part.markup]));
  return { markup: shown, text: parts.map(({ text }) => text).join(between === ";" ? "; " : ` ${between} `) };
}

/** The formula that `text` writes about `names`, with what `naming` makes of them; as text where it cannot be read. */
export function print(text: string, names: ReadonlySet<string>, naming: Naming): Printed {
  const parts = parse(text, names);
  if (!parts) return { markup: [words(text)], text };
  return { markup: printed(parts, withGradients(names, naming)), text: renamed(text, names, naming) };
}

/** A name that nobody names otherwise: "dx" is the gradient of x, "∂dx" that of dx. */
function withGradients(names: ReadonlySet<string>, naming: Naming): (name: string) => Noun {
  return (name) => {
    const noun = naming(name);
    if (noun) return noun;
    if (name.startsWith("∂")) return { blob: name.slice(1), isGradient: true };
    const isGradient = /^d./.test(name) && (names.has(name) || names.has(name.slice(1)) || /^d[a-z]\d*$/.test(name)) && name !== "dt";
    return isGradient ? { blob: name.slice(1), isGradient } : { blob: name, isGradient };
  };
}

function renamed(text: string, names: ReadonlySet<string>, naming: Naming): string {
  let result = "";
  let at = 0;
  for (const token of tokensOf(text) ?? []) {
    const shown = token.kind === "sup" ? raised(token.text, naming) : token.kind === "word" && isName(token.text, names) ? naming(token.text) : null;
    if (!shown) continue;
    result += text.slice(at, token.start) + (typeof shown === "string" ? shown : nounText(shown));
    at = token.end;
  }
  return result + text.slice(at);
}

/** "^(−z)" for a power in which names have become others; null where none has. */
function raised(power: string, naming: Naming): string | null {
  const shown = onTheLine(power).replace(/[xy]/g, (name) => {
    const replacement = naming(name);
    return replacement ? nounText(replacement) : name;
  });
  return shown === onTheLine(power) ? null : `^(${shown})`;
}

function printed(parts: Part[], naming: (name: string) => Noun): Markup[] {
  const markup: Markup[] = [];
  parts.forEach((part, index) => {
    const before = parts[index - 1];
    if (before && needsSpace(before, part)) markup.push(space());
    const isPrefix = part.kind === "sign" && part.text === "-" && (!before || before.kind === "sign");
    if (part.kind === "word") markup.push(word(part.text, before, part, parts[index + 1]));
    else if (isPrefix) markup.push({ ...sign("−"), attributes: { form: "prefix" } });
    else markup.push(one(part, naming));
  });
  return joined(markup);
}

/** Factors that stand side by side, and a function and what it is of. Words bring their own space. */
function needsSpace(before: Part, part: Part): boolean {
  const isOther = (one: Part): boolean => one.kind === "sign" || (one.kind === "word" && !FUNCTIONS.has(one.text));
  return part.gap && !isOther(before) && !isOther(part);
}

/** A word in a sentence; one that is a function of what follows stands close to it. */
function word(text: string, before: Part | undefined, part: Part, next: Part | undefined): Markup {
  if (FUNCTIONS.has(text) || (next?.kind === "group" && !next.gap)) return identifier(text);
  const [left, right] = [before && before.kind !== "sign" && part.gap, next && next.kind !== "sign" && next.gap];
  return words(`${left ? "\u00a0" : ""}${text}${right ? "\u00a0" : ""}`);
}

/** Neighbouring words as one text. */
function joined(markup: Markup[]): Markup[] {
  const shown: Markup[] = [];
  for (const one of markup) {
    const last = shown.at(-1);
    if (one.tag === "mtext" && last?.tag === "mtext") {
      last.children = [`${String(last.children[0])}${String(one.children[0])}`.replace(/\u00a0+/g, "\u00a0")];
    } else shown.push(one);
  }
  return shown;
}

const SHOWN: Record<string, string> = { "-": "−", "->": "→", "...": "…" };

function one(part: Part, naming: (name: string) => Noun): Markup {
  if (part.kind === "group") {
    const items = printed(part.items, naming);
    return part.open === "" ? row(...items) : markup("mrow", sign(part.open), ...items, sign(part.close));
  }
  if (part.kind === "root") return part.degree ? markup("mroot", one(part.of, naming), number(part.degree)) : markup("msqrt", one(part.of, naming));
  if (part.kind === "fraction") return markup("mfrac", row(...printed(part.top, naming)), row(...printed(part.bottom, naming)));
  if (part.kind === "script") return script(one(part.base, naming), part.sub, part.sup, naming);
  if (part.kind === "name") return noun(naming(part.text));
  if (part.kind === "word") return FUNCTIONS.has(part.text) ? identifier(part.text) : words(part.text);
  return part.kind === "number" ? number(part.text) : sign(SHOWN[part.text] ?? part.text);
}

/** An index is a letter of its own; in a power a letter is what it is elsewhere: "e⁻ˣ". */
function script(base: Markup, sub: string, sup: string, naming: (name: string) => Noun): Markup {
  const power = (): Markup => small(sup, (text) => (/^[xy]$/.test(text) ? noun(naming(text)) : letters(text)));
  if (sup === "") return markup("msub", base, small(sub, identifier));
  return sub === "" ? markup("msup", base, power()) : markup("msubsup", base, small(sub, identifier), power());
}

/** What stands in a script: letters, digits, signs. */
function small(text: string, lettered: (text: string) => Markup): Markup {
  const parts = text.match(/\d+|[A-Za-zα-ω_]+|[^\dA-Za-zα-ω_\u2009]/g) ?? [text];
  return row(...parts.map((part) => (/^\d/.test(part) ? number(part) : /^[A-Za-zα-ω_]/.test(part) ? lettered(part) : sign(part))));
}

/** A transposition stands upright. */
function letters(text: string): Markup {
  return text === "T" ? { ...identifier(text), attributes: { mathvariant: "normal" } } : identifier(text);
}

const MATHML_NAMESPACE = "http://www.w3.org/1998/Math/MathML";

/** A formula as an element; its text is for those whose browser or reader knows no MathML. */
export function mathElement({ markup, text }: Printed): Element {
  return built({ tag: "math", attributes: { displaystyle: "true", alttext: text }, children: markup });
}

function built({ tag, attributes, children }: Markup): Element {
  const node = document.createElementNS(MATHML_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.map((child) => (typeof child === "string" ? child : built(child))));
  return node;
}
