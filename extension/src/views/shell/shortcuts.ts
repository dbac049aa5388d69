// Keeps JupyterLab's shortcuts away from the keys that are pressed inside the debugger.
//
// In a notebook's command mode a lone letter or arrow is a shortcut of JupyterLab's (of Lumino's), taken before any
// element of the page sees it, by a selector that fits whatever has the focus. Lumino leaves alone an element that bears
// this attribute, so the element with the focus bears it. While Ctrl, Meta or Alt is held it does not: saving, the
// command palette and their like keep working.

const ATTRIBUTE = "data-lm-suppress-shortcuts";
const MODIFIERS = ["Control", "Meta", "Alt"];

/** Returns what lets go of the listeners. */
export function keepShortcutsAway(root: HTMLElement): () => void {
  const mark = (event: Event): void => (event.target as Element).setAttribute(ATTRIBUTE, "true");
  const unmark = (event: Event): void => (event.target as Element).removeAttribute(ATTRIBUTE);
  const down = (event: KeyboardEvent): void => {
    if (MODIFIERS.includes(event.key)) unmark(event);
  };
  root.addEventListener("focusin", mark);
  root.addEventListener("focusout", unmark);
  root.addEventListener("keydown", down, { capture: true });
  root.addEventListener("keyup", mark, { capture: true });
  return () => {
    root.removeEventListener("focusin", mark);
    root.removeEventListener("focusout", unmark);
    root.removeEventListener("keydown", down, { capture: true });
    root.removeEventListener("keyup", mark, { capture: true });
  };
}
