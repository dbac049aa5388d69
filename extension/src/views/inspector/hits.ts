// Which occurrences of a breakpoint count, and what it logs where it does not stop: a form below its row.

import { meaningOf } from "../../model/filters/breakpoints";
import type { BreakpointEntry, Trace } from "../../model/schema";
import { element, type Attributes } from "../elements/dom";
import { createFault, textField } from "../elements/entry";

/** `change` gets the breakpoint with what was written. */
export function howForm(trace: Trace, entry: BreakpointEntry, change: (other: BreakpointEntry) => void): HTMLElement {
  const field = (label: string, attributes: Attributes): Field => labelled(label, entry.on, attributes);
  const ignore = field("Ignore the first", { type: "number", min: 0, step: 1, required: true, value: entry.ignore });
  const every = field("Of the others count one in", { type: "number", min: 1, step: 1, required: true, value: entry.every });
  const log = field("Log and do not stop", { type: "text", placeholder: "norm of {x} is {norm}", value: entry.log ?? "" });
  const fault = createFault(log.input);
  const set = element("button", { type: "submit", class: "gv-link", "aria-label": `Set what counts for ${entry.on}` }, "Set");
  const form = element("form", { class: "gv-how" }, ignore.element, every.element, log.element, set, fault.element);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    fault.clear();
    const said = log.input.value.trim();
    const other = { ...entry, ignore: Number(ignore.input.value), every: Number(every.input.value), log: said === "" ? null : said };
    const { problem } = meaningOf(trace, other);
    if (problem) fault.complain(problem);
    else change(other);
  });
  return form;
}

interface Field {
  element: HTMLElement;
  input: HTMLInputElement;
}

/** A field behind its label; to a screen reader it says which breakpoint it is of, too. */
function labelled(label: string, on: string, attributes: Attributes): Field {
  const input = textField({ ...attributes, "aria-label": `${label}: ${on}` });
  return { element: element("label", {}, element("span", {}, label), input), input };
}
