// Puts MathML into the page, which browsers draw without any library.

import type { Markup, Printed } from "./mathml";

const MATHML_NAMESPACE = "http://www.w3.org/1998/Math/MathML";

/** A formula as an element; its text is for those whose browser or reader knows no MathML. */
export function mathElement({ markup, text }: Printed): Element {
  return built({ tag: "math", attributes: { displaystyle: "true", alttext: text }, children: markup });
}

function built({ tag, attributes, children }: Markup): Element {
  const made = document.createElementNS(MATHML_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.map((child) => (typeof child === "string" ? child : built(child))));
  return made;
}
