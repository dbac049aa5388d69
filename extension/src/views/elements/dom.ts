// Builds DOM elements from tags, attributes and text. Text only ever becomes text: nothing is parsed as markup.

import { innerWords } from "../../model/recording/lookup";

export type Child = Node | string;
export type Attributes = Record<string, string | number | boolean>;

/** An element; attributes that are false are left out, those that are true are empty. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

export const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** The same in a drawing. */
export function svgElement<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

/** Paths of icons that stand in more than one place. */
export const ICONS = { before: "M10 3 5 8l5 5", behind: "M6 3l5 5-5 5", more: "M8 3v10M3 8h10", fewer: "M3 8h10", remove: "M4 4l8 8M12 4l-8 8" };

/** A small icon, drawn with one path in the colour of the text. */
export function icon(path: string): SVGSVGElement {
  return svgElement("svg", { viewBox: "0 0 16 16", class: "gv-icon", "aria-hidden": "true" }, svgElement("path", { d: path }));
}

export function button(act: () => void, attributes: Attributes, ...children: Child[]): HTMLButtonElement {
  const control = element("button", { type: "button", ...attributes }, ...children);
  control.addEventListener("click", act);
  return control;
}

/** A button in a card, which leads to more or elsewhere. */
export function linkButton(act: () => void, ...children: Child[]): HTMLButtonElement {
  return button(act, { class: "gv-link" }, ...children);
}

/** A small button that shows an icon alone; what it says stands in its tool tip. */
export function iconButton(label: string, path: string, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return button(act, { class: "gv-tool", title: label, "aria-label": label, ...attributes }, icon(path));
}

/** The way to what comes before or behind in a list; null: there is nothing. */
export function turnButton(label: string, way: "before" | "behind", act: (() => void) | null): HTMLButtonElement {
  return iconButton(label, ICONS[way], () => act?.(), { "aria-disabled": String(act === null) });
}

/** Leads a box back to its start, where it has been scrolled: to ask it would have the page laid out at once. */
export function rewinding(box: HTMLElement): () => void {
  let isScrolled = false;
  box.addEventListener("scroll", () => (isScrolled = box.scrollLeft > 0 || box.scrollTop > 0));
  return () => {
    if (isScrolled) box.scrollTo(0, 0);
  };
}

/** What is said where there is nothing to show. */
export function quiet(text: string): HTMLElement {
  return element("p", { class: "gv-quiet" }, text);
}

/** Fills an element; children that it had already stay in the page, with the focus and what is typed in them. */
export function refill(box: Element, children: readonly Element[]): void {
  for (const child of [...box.children]) if (!children.includes(child)) child.remove();
  children.forEach((child, index) => {
    if (box.children[index] !== child) box.insertBefore(child, box.children[index] ?? null);
  });
}

/** Gives the focus back to the debugger, if an element has it that is about to go: the keys go on to work. */
export function leave(going: Element): void {
  if (going.contains(document.activeElement)) going.closest<HTMLElement>(".gradviz")?.focus({ preventScroll: true });
}

/** Gives an element an attribute, which false takes away and true leaves empty. */
export function attribute(target: Element, name: string, value: Attributes[string]): void {
  if (value === false) target.removeAttribute(name);
  else target.setAttribute(name, value === true ? "" : String(value));
}

function filled<Tag extends Element>(target: Tag, attributes: Attributes, children: Child[]): Tag {
  for (const [name, value] of Object.entries(attributes)) attribute(target, name, value);
  target.append(...children);
  return target;
}

/** Code in a sentence, with long names of blobs shortened. */
export function code(text: string): HTMLElement {
  const short = innerWords(text);
  return element("code", { title: short !== text && text }, short);
}

/** The name of a blob version, "a_grad@1", its version muted. */
export function version(name: string): Child[] {
  const at = name.lastIndexOf("@");
  if (at < 0) return blobName(name);
  return [...blobName(name.slice(0, at)), element("span", { class: "gv-version" }, name.slice(at))];
}

function blobName(name: string): Child[] {
  const short = innerWords(name);
  if (short === name) return [name];
  const words = short.lastIndexOf("⟨");
  return [element("span", { title: name }, short.slice(0, words), element("span", { class: "gv-note" }, short.slice(words)))];
}

/** The sentence, what is between backticks as code, and what is around it as `shown` has it. */
export function marked(sentence: string, shown: (part: string) => Child[] = (part) => [part]): Child[] {
  return sentence.split("`").flatMap((part, index) => (index % 2 === 0 ? shown(part) : code(part)));
}
