// Nested nets in the program's text: indented below the operator that runs them, folded until somebody looks inside.

import type { Line, Subnet, Trace } from "../trace";
import { element } from "./dom";

export type Part = "forward" | "backward";

/** A row and, where its line runs nested nets, what unfolds them. */
export interface Nest {
  element: HTMLElement;
  /** The nested nets that show lines here. */
  subnets: Subnet[];
  /** Where the runs of each are told, once it is open. */
  rounds: Map<string, HTMLElement>;
  readonly isOpen: boolean;
  setOpen(isOpen: boolean): void;
}

/** The nested nets of a line that have lines in a part of the program. */
export function nestedIn(trace: Trace, line: Line, part: Part): Subnet[] {
  const nets = Object.values(line.subnets).map((id) => trace.subnets.find((net) => net.id === id));
  return nets.filter((net): net is Subnet => net !== undefined && net[part].length > 0);
}

/** `fill` makes the rows of a nested net when it is opened for the first time. */
export function createNest(row: HTMLElement, line: Line, subnets: Subnet[], fill: (net: Subnet) => HTMLElement[]): Nest {
  const body = element("div", { class: "gv-nest", hidden: true });
  const label = `Nested nets of ${line.type}`;
  const toggle = element("button", { type: "button", class: "gv-fold", tabindex: -1, "aria-expanded": "false", "aria-label": label, title: `${label} (+, −)` }, "▸");
  const rounds = new Map<string, HTMLElement>();
  const nest: Nest = {
    element: element("div", { class: "gv-folding" }, row, toggle, body),
    subnets,
    rounds,
    get isOpen() {
      return !body.hidden;
    },
    setOpen(isOpen) {
      if (isOpen && body.childElementCount === 0) body.append(...subnets.flatMap((net) => [head(net, rounds), ...fill(net)]));
      body.hidden = !isOpen;
      toggle.setAttribute("aria-expanded", String(isOpen));
      toggle.textContent = isOpen ? "▾" : "▸";
    },
  };
  toggle.addEventListener("click", (event) => {
    event.stopPropagation();
    nest.setOpen(!nest.isOpen);
  });
  return nest;
}

function head(net: Subnet, rounds: Map<string, HTMLElement>): HTMLElement {
  const round = element("span", { class: "gv-round" });
  rounds.set(net.id, round);
  const title = net.argument === "net" ? net.name : `${net.argument} ${net.name}`;
  return element("div", { class: "gv-net", title: net.path.join(" / ") }, element("span", {}, title), round);
}
