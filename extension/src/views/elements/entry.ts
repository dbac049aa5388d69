// A field that adds a text to a list, and says where a text that means nothing is at fault.

import type { ConditionError } from "../../model/filters/conditions/conditions";
import { element, leave, type Attributes } from "./dom";

let forms = 0;

export function createFault(input: HTMLInputElement) {
  const id = `gv-fault-${++forms}`;
  const fault = element("div", { class: "gv-misread", id, role: "alert", hidden: true });

  function clear(): void {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
    fault.replaceChildren();
    fault.hidden = true;
  }

  function complain(error: ConditionError): void {
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", id);
    const line = element("pre", { "aria-hidden": "true" }, `${error.text.replace(/\s/g, " ")}\n${" ".repeat(error.position)}^`);
    fault.replaceChildren(line, error.message);
    fault.hidden = false;
  }

  input.addEventListener("input", clear);
  return { element: fault, clear, complain };
}

/** Lets a field have the keys that are typed in it; Escape leads back to the debugger. */
export function keepKeys(input: HTMLInputElement): void {
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave(input);
    // What is typed belongs to the field, but for the keys that mean nothing in it.
    if (event.key !== "F10" && event.key !== "F11") event.stopPropagation();
  });
}

/** A field for a line of text, or with another `type` for what fits that. */
export function textField(attributes: Attributes): HTMLInputElement {
  const input = element("input", { type: "text", spellcheck: "false", autocomplete: "off", ...attributes });
  keepKeys(input);
  return input;
}

/** `add` gives what is wrong with the text, null when it was added; until then the field keeps it. */
export function entryForm(label: string, placeholder: string, add: (text: string) => ConditionError | null): HTMLElement {
  const input = textField({ "aria-label": label, placeholder });
  const submit = element("button", { type: "submit", class: "gv-link" }, "Add");
  const fault = createFault(input);
  const form = element("form", { class: "gv-add" }, element("span", { class: "gv-field" }, input, submit), fault.element);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text === "") return;
    fault.clear();
    const error = add(text);
    if (error) fault.complain(error);
    else input.value = "";
  });
  return form;
}
