// Controls: of several one that is shown, by buttons side by side or tabs; a list of what can be done; a field that adds a text to a list, and says where a
// text that means nothing is at fault.

import type { ConditionError } from "../../model/filters/conditions/conditions";
import { button, element, leave, type Attributes, type Child } from "./dom";

/** Joined like the parts of a switch, or each for itself. `choose` hears of a press on a button that is not pressed. */
export function createChoice<Name extends string>(
  shape: "gv-segments" | "gv-chips",
  label: string,
  names: readonly Name[],
  face: (name: Name) => { title?: string; content?: Child[] },
  choose: (name: Name) => void,
) {
  let shown: Name | null = null;
  const buttons = names.map((name) => {
    const { title, content = [name] } = face(name);
    return button(() => name !== shown && choose(name), { "aria-pressed": "false", "aria-label": name, title: title ?? false }, ...content);
  });
  return {
    element: element("div", { class: shape, role: "group", "aria-label": label }, ...buttons),
    show(name: Name) {
      shown = name;
      buttons.forEach((one, index) => one.setAttribute("aria-pressed", String(names[index] === name)));
    },
  };
}

/**
 * While a tab has the focus, the arrow keys move between them; `choose` gets the one that a person opens. Those for which
 * there is no room in the row stand behind a button that says how many they are.
 */
export function createTabs<Name extends string>(label: string, names: readonly Name[], choose: (name: Name) => void) {
  const buttons = names.map((name) => button(() => choose(name), { role: "tab", "data-name": name }, name));
  const list = element("div", { class: "gv-tab-list", role: "tablist", "aria-label": label }, ...buttons);
  const more = button(() => {
    list.classList.toggle("gv-unfolded");
    keepInSight();
  }, { class: "gv-more" });
  const row = element("div", { class: "gv-tabs" }, list, more);
  let shown: HTMLElement | undefined;

  function moveBy(step: number): void {
    let index = buttons.findIndex((one) => one === document.activeElement);
    // A tab that the style sheet leaves out takes no focus.
    for (let tried = 0; tried < names.length; tried++) {
      index = (index + step + names.length) % names.length;
      const [one, name] = [buttons[index], names[index]];
      if (!one || name === undefined || one.offsetWidth === 0) continue;
      choose(name);
      return one.focus({ preventScroll: true });
    }
  }

  list.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    event.stopPropagation();
    moveBy(event.key === "ArrowRight" ? 1 : -1);
  });

  /** Brings the row of the tab that is shown into sight, and counts the others. */
  function keepInSight(): void {
    if (!shown || list.clientWidth === 0) return;
    const { offsetTop } = shown;
    const [first] = buttons;
    list.scrollTop = offsetTop - (first?.offsetTop ?? 0);
    const others = buttons.filter((one) => one.offsetWidth > 0 && one.offsetTop !== offsetTop);
    const isUnfolded = list.classList.contains("gv-unfolded");
    more.style.visibility = others.length > 0 ? "visible" : "hidden";
    more.textContent = isUnfolded ? "fewer" : `${others.length} more`;
    more.title = isUnfolded ? "" : others.map((one) => one.dataset["name"]).join(", ");
    more.setAttribute("aria-expanded", String(isUnfolded));
  }

  const resizes = new ResizeObserver(keepInSight);
  resizes.observe(list);
  return {
    element: row,
    show(name: Name) {
      const chosen = buttons[names.indexOf(name)];
      if (chosen === shown) return;
      shown = chosen;
      for (const one of buttons) {
        one.setAttribute("aria-selected", String(one === chosen));
        one.tabIndex = one === chosen ? 0 : -1;
      }
      keepInSight();
    },
    dispose: () => resizes.disconnect(),
  };
}

/** Pixels between the list of a menu and the edge of what it is in. */
const EDGE = 8;

/** A button that opens a list of what can be done; one of these closes it. */
export function createMenu<Name extends string>(face: string, title: string, names: Record<Name, string>, choose: (name: Name) => void): HTMLElement {
  const entries = (Object.entries(names) as [Name, string][]).map(([name, words]) =>
    button(() => {
      menu.open = false;
      choose(name);
    }, {}, words),
  );
  const list = element("div", { role: "group", "aria-label": title }, ...entries);
  const menu = element("details", { class: "gv-menu" }, element("summary", { title }, face), list);
  // Below the button, or as far to its left as it takes to stay within what the button is in.
  menu.addEventListener("toggle", () => {
    const end = (menu.parentElement ?? menu).getBoundingClientRect().right;
    list.style.left = `${Math.min(0, end - menu.getBoundingClientRect().left - list.offsetWidth - EDGE)}px`;
  });
  menu.addEventListener("focusout", ({ relatedTarget }) => (menu.open &&= !(relatedTarget instanceof Node) || menu.contains(relatedTarget)));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.querySelector("summary")?.focus();
  });
  return menu;
}

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

/** A field for a line of text, or with another `type` for what fits that. It has the keys that are typed in it; Escape leads back to the debugger. */
export function textField(attributes: Attributes): HTMLInputElement {
  const input = element("input", { type: "text", spellcheck: "false", autocomplete: "off", ...attributes });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave(input);
    // What is typed belongs to the field, but for the keys that mean nothing in it.
    if (event.key !== "F10" && event.key !== "F11") event.stopPropagation();
  });
  return input;
}

/** Leads into a field, to write over what stands there. */
export function enter(input: HTMLInputElement): void {
  input.focus({ preventScroll: true });
  input.select();
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
