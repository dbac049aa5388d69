// Searching the graph: a field that finds operators by type, name, blob or index, and goes from one to the next.

import { allLines, type Line, type Trace } from "../trace";
import { element, iconButton } from "./dom";
import { keepKeys } from "./entry";

export interface Search {
  element: HTMLElement;
  open(): void;
  close(): void;
}

/** `match` gets what matches, and `lead` the one that the person goes to. */
export function createSearch(trace: Trace, match: (lines: string[]) => void, lead: (line: string) => void): Search {
  const input = element("input", { type: "text", "aria-label": "Search the graph", placeholder: "type, blob, #index", spellcheck: "false", autocomplete: "off" });
  const count = element("span", { class: "gv-note", role: "status" });
  const shut = iconButton("Close the search", "M4 4l8 8M12 4l-8 8", close, { title: "Close the search (Escape)" });
  const bar = element("div", { class: "gv-search", role: "search", hidden: true }, input, count, shut);
  let found: string[] = [];
  let at = -1;

  function tell(): void {
    const place = at < 0 ? `${found.length} found` : `${at + 1} of ${found.length}`;
    count.textContent = input.value.trim() === "" ? "" : found.length === 0 ? "nothing" : place;
  }

  function look(): void {
    found = matching(trace, input.value);
    at = -1;
    match(found);
    tell();
  }

  function close(): void {
    if (bar.hidden) return;
    bar.hidden = true;
    found = [];
    match(found);
    bar.closest<HTMLElement>(".gradviz")?.focus({ preventScroll: true });
  }

  keepKeys(input);
  input.addEventListener("input", look);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && found.length > 0) {
      event.preventDefault();
      at = event.shiftKey ? (Math.max(at, 0) + found.length - 1) % found.length : (at + 1) % found.length;
      lead(found[at] ?? "");
      tell();
    } else if (event.key === "Escape") close();
  });
  return {
    element: bar,
    open() {
      bar.hidden = false;
      look();
      input.focus({ preventScroll: true });
      input.select();
    },
    close,
  };
}

/** The lines that a text means, in the order of the program: "#12" by index, others by type, name and blobs. */
export function matching(trace: Trace, text: string): string[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const index = /^#(\d+)$/.exec(wanted)?.[1];
  const has = (name: string): boolean => name.toLowerCase().includes(wanted);
  const fits = (line: Line): boolean =>
    index === undefined
      ? has(line.type) || has(line.name) || line.outputs.some(has) || line.inputs.some(has)
      : line.id.endsWith(`f${index}`) && line.role === "forward" || line.of === Number(index);
  return allLines(trace).filter(fits).map(({ id }) => id);
}
