// What opens and closes clusters: the marks of the operators that run nested nets, and the title bars of open ones.

import { allLines, type Trace } from "../trace";
import { SVG_NAMESPACE } from "./dom";
import type { Plan } from "./folds";
import type { Drawing } from "./svg";

/** The cluster that a line opens, by the line's id: that of its own and of its partner in the other lane. */
export function clusterOf(trace: Trace, plan: Plan): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of allLines(trace)) {
    for (const net of Object.values(line.subnets)) {
      const cluster = plan.nets.get(net);
      if (cluster !== undefined) found.set(line.id, cluster);
    }
  }
  return found;
}

export interface Toggles {
  /** The line whose mark has the focus, if any has. */
  focused(): string | null;
  focus(line: string | null): void;
}

/** Makes the marks of a drawing act. `toggle` gets the cluster, and the line whose node should stay where it is. */
export function dressToggles(
  drawing: Drawing,
  clusters: Map<string, string>,
  open: ReadonlySet<string>,
  toggle: (cluster: string, line: string) => void,
): Toggles {
  const buttons = new Map<string, SVGElement>();
  for (const [id, group] of drawing.byId) {
    const mark = id.startsWith("node-") ? group.querySelector("polygon.mark") : null;
    if (!mark) continue;
    const line = id.slice("node-".length);
    const cluster = clusters.get(line);
    if (cluster === undefined) mark.remove();
    else buttons.set(line, button(group, mark, open.has(cluster), () => toggle(cluster, line)));
  }
  for (const cluster of new Set(clusters.values())) {
    drawing.byId.get(`cluster-${cluster}`)?.querySelector(":scope > rect.bar")?.addEventListener("click", (event) => {
      event.stopPropagation();
      toggle(cluster, cluster);
    });
  }
  return {
    focused: () => [...buttons].find(([, one]) => one === document.activeElement)?.[0] ?? null,
    focus: (line) => (line === null ? undefined : buttons.get(line)?.focus({ preventScroll: true })),
  };
}

/** A button over the mark of a node, as high as the node. */
function button(group: SVGElement, mark: Element, isOpen: boolean, act: () => void): SVGElement {
  const box = group.querySelector("rect");
  const name = group.querySelector("title")?.textContent?.split(":")[0] ?? "operator";
  const made = document.createElementNS(SVG_NAMESPACE, "g");
  const area = document.createElementNS(SVG_NAMESPACE, "rect");
  for (const name of ["x", "y", "height"]) area.setAttribute(name, box?.getAttribute(name) ?? "0");
  area.setAttribute("width", "26");
  area.setAttribute("class", "area");
  if (!isOpen) mark.setAttribute("transform", `rotate(-90 ${centre(mark)})`);
  made.setAttribute("class", "toggle");
  made.setAttribute("role", "button");
  made.setAttribute("tabindex", "0");
  made.setAttribute("aria-expanded", String(isOpen));
  made.setAttribute("aria-label", `${isOpen ? "Close" : "Open"} ${name}`);
  made.append(area, mark);
  made.addEventListener("click", (event) => {
    event.stopPropagation();
    act();
  });
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
