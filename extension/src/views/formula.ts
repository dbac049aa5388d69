// The formula of the step, below the graph: what it computes, with the net's own blobs.

import { stepFormula } from "../formula/steps";
import type { Trace } from "../trace";
import { element } from "./dom";
import { mathElement } from "./math";

export interface FormulaView {
  element: HTMLElement;
  show(position: number): void;
}

export function createFormula(trace: Trace): FormulaView {
  const bar = element("div", { class: "gv-formula", role: "group", "aria-label": "Formula", "aria-live": "polite", tabindex: 0 });
  return {
    element: bar,
    show(position) {
      const formula = stepFormula(trace, position);
      bar.replaceChildren(...(formula ? [mathElement(formula)] : []));
      bar.scrollLeft = 0;
    },
  };
}
