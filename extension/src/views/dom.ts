// Builds DOM elements from tags, attributes and text. Text only ever becomes text: nothing is parsed as markup.

export type Child = Node | string;
export type Attributes = Record<string, string | number | boolean>;

/** An element; attributes that are false are left out, those that are true are empty. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

export const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** A small icon, drawn with one path in the colour of the text. */
export function icon(path: string): SVGSVGElement {
  const picture = document.createElementNS(SVG_NAMESPACE, "svg");
  setAttributes(picture, { viewBox: "0 0 16 16", class: "gv-icon", "aria-hidden": "true" });
  const shape = document.createElementNS(SVG_NAMESPACE, "path");
  shape.setAttribute("d", path);
  picture.append(shape);
  return picture;
}

function setAttributes(target: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) target.setAttribute(name, value === true ? "" : String(value));
  }
}

/** The name of a blob version, "a_grad@1", its version muted. */
export function version(name: string): Child[] {
  const at = name.lastIndexOf("@");
  return at < 0 ? [name] : [name.slice(0, at), element("span", { class: "gv-version" }, name.slice(at))];
}
