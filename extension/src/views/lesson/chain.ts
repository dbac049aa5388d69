// The chain rule in numbers: local derivative × gradient that arrives = gradient that it gives.

import { joinedBy, markup, mathElement, named, noun, nounText, type Printed } from "../../formula/mathml";
import { chainAt, sumAt, type Link, type Sum } from "../../lesson/chain";
import { numbersOf } from "../../model/recording/values";
import type { Trace, Value } from "../../model/schema";
import { glance, DIGITS, NOT_YET } from "../elements/array";
import { element } from "../elements/dom";
import { quantity } from "../elements/numbers";

/** A row for each gradient that the operator of the event gives. */
export function chainRows(trace: Trace, position: number): HTMLElement {
  const links = chainAt(trace, position);
  const list = element("div", { class: "gv-chain", role: "group", "aria-label": "Chain rule", tabindex: 0 });
  const sum = links.length === 0 ? sumAt(trace, position) : null;
  const what = sum ? "gradient = sum over all that read the blob" : "gradient = local derivative × gradient that arrives";
  const equations = sum ? [addition(sum)] : links.map(equation);
  list.append(element("div", { class: "gv-note" }, what), ...equations.map((one) => element("div", {}, mathElement(one))));
  return list;
}

/** "∂a = 0.5 + 0.2 = 0.7"; of larger arrays only the sum is told: norms do not add up. */
function addition({ total, result, terms }: Sum): Printed {
  const left = named(total);
  if (!result) return joinedBy("=", [left, said(NOT_YET)]);
  const isTold = terms.length > 0 && [result, ...terms].every((one) => numbersOf(one) !== null);
  if (!isTold) return joinedBy("=", [left, said(glance(result))]);
  const shown = terms.map((one, index) => said(index === 0 ? glance(one) : signed(glance(one))));
  return joinedBy("=", [left, joinedBy("+", shown), said(glance(result))]);
}

function equation(link: Link): Printed {
  const { x, y, local, upstream, result } = link;
  const left: Printed[] = [named(x), joinedBy("×", [slope(link), named(y)])];
  if (!result || !upstream) return joinedBy("=", [...left, said(NOT_YET)]);
  if (!local) return joinedBy("=", [...left, said(glance(result))]);
  return joinedBy("=", [...left, joinedBy("×", [said(localText(local, result)), said(signed(glance(upstream)))]), said(glance(result))]);
}

/** "∂p/∂x", of blobs, not of their gradients. */
function slope({ x, y }: Link): Printed {
  return { text: `${nounText(y)}/${nounText(x)}`, markup: [markup("mfrac", noun(y), noun(x))] };
}

/** "0.25", "[0.25, —]": a dash where the gradient that arrives is 0, so that the quotient says nothing. */
function localText(local: (number | null)[], { size }: Value): string {
  const shown = local.map((one) => (one === null ? "—" : quantity(one, DIGITS)));
  return size === 1 ? signed(shown[0] ?? "") : `[${shown.join(", ")}]`;
}

const signed = (text: string): string => (text.startsWith("−") ? `(${text})` : text);
/** Numbers as they are shown; MathML takes a text for a space. */
const said = (text: string): Printed => ({ text, markup: [markup("mn", text)] });
