// What opens and closes clusters: the marks of the operators that run nested nets, and the title bars of open ones.

import { svgElement } from "../elements/dom";
import type { Drawing } from "./drawing/svg";

export interface Toggles {
  /** The line or group whose mark has the focus, if any has. */
  focused(): string | null;
  focus(line: string | null): void;
  readonly count: number;
}

/**
 * Makes the marks of a drawing act. `opened` gives the cluster that a node opens, undefined for none; `toggle` gets the
 * cluster, and the node that should stay where it is.
 */
export function dressToggles(
  drawing: Drawing,
  opened: (node: string) => string | undefined,
  open: ReadonlySet<string>,
  toggle: (cluster: string, node: string) => void,
): Toggles {
  const buttons = new Map<string, SVGElement>();
  for (const [id, group] of drawing.byId) {
    const mark = id.startsWith("node-") ? group.querySelector("polygon.mark") : null;
    if (!mark) continue;
    const line = id.slice("node-".length);
    const cluster = opened(line);
    if (cluster === undefined) mark.remove();
    else buttons.set(line, button(group, mark, open.has(cluster), () => toggle(cluster, line)));
    // There is nothing else that a press on a group could mean.
    if (cluster !== undefined && group.classList.contains("group")) press(group, () => toggle(cluster, line));
  }
  for (const [id, element] of drawing.byId) {
    if (!id.startsWith("cluster-")) continue;
    const bar = element.querySelector(":scope > rect.bar");
    if (bar) press(bar, () => toggle(id.slice("cluster-".length), id.slice("cluster-".length)));
  }
  return {
    focused: () => [...buttons].find(([, one]) => one === document.activeElement)?.[0] ?? null,
    focus: (line) => (line === null ? undefined : buttons.get(line)?.focus({ preventScroll: true })),
    count: buttons.size,
  };
}

function press(element: Element, act: () => void): void {
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    act();
  });
}

/** A button over the mark of a node, as high as the node. */
function button(group: SVGElement, mark: Element, isOpen: boolean, act: () => void): SVGElement {
  const box = group.querySelector("rect");
  const name = group.querySelector("title")?.textContent?.split(":")[0] ?? "operator";
  const at = (name: string): string => box?.getAttribute(name) ?? "0";
  const area = svgElement("rect", { class: "area", x: at("x"), y: at("y"), width: 26, height: at("height") });
  // Nested nets are drawn open, groups closed.
  const isDrawnOpen = !group.classList.contains("group");
  if (isOpen !== isDrawnOpen) mark.setAttribute("transform", `rotate(${isOpen ? 90 : -90} ${centre(mark)})`);
  const told = { "aria-expanded": String(isOpen), "aria-label": `${isOpen ? "Close" : "Open"} ${name}` };
  const made = svgElement("g", { class: "toggle", role: "button", tabindex: 0, ...told }, area, mark);
  press(made, act);
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  group.append(made);
  return made;
}

function centre(mark: Element): string {
  const numbers = (mark.getAttribute("points") ?? "").split(/[\s,]+/).map(Number);
  const middle = (from: number): number => {
    const along = numbers.filter((_, index) => index % 2 === from);
    return (Math.min(...along) + Math.max(...along)) / 2;
  };
  return `${middle(0)} ${middle(1)}`;
}
