// The formula of the step, below the graph: what it computes, with the net's own blobs.

import { mathElement } from "../../formula/mathml";
import { stepFormula } from "../../formula/steps";
import type { Trace } from "../../model/schema";
import { element, rewinding } from "../elements/dom";
import type { View } from "../elements/navigation";

export function createFormula(trace: Trace): View {
  const bar = element("div", { class: "gv-formula", role: "group", "aria-label": "Formula", "aria-live": "polite", tabindex: 0 });
  const rewind = rewinding(bar);
  let shown = "";
  return {
    element: bar,
    show(position) {
      rewind();
      const formula = stepFormula(trace, position);
      const key = JSON.stringify(formula);
      if (key === shown) return;
      shown = key;
      bar.replaceChildren(...(formula ? [mathElement(formula)] : []));
    },
  };
}
