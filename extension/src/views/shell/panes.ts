// Which panes are seen where there is no room for all of them side by side: tabs above them say so.

import { createTabs } from "../elements/controls";
import { element } from "../elements/dom";

const PANES = ["Code", "Graph", "Inspector"] as const;
export type Pane = (typeof PANES)[number];

/** In pixels, as the style sheet has it: from this on the graph is always seen. */
const BESIDE_GRAPH = 700;

/** The panes in the order of their names; `shown` is what was seen last, null: the person has not chosen. */
export function createPaneTabs(panes: readonly HTMLElement[], shown: Pane | null, chosen: (pane: Pane) => void) {
  const tabs = createTabs("Panes", PANES, show);
  const body = element("div", { class: "gv-body" }, element("div", { class: "gv-pane-tabs" }, tabs.element), ...panes);
  let now: Pane = shown ?? "Graph";

  function show(pane: Pane): void {
    now = pane;
    body.dataset["pane"] = pane;
    tabs.show(pane);
    chosen(pane);
  }

  const resizes = new ResizeObserver(() => {
    if (body.clientWidth >= BESIDE_GRAPH && now === "Graph") show("Code");
  });
  resizes.observe(body);
  show(now);
  return {
    element: body,
    show,
    dispose() {
      resizes.disconnect();
      tabs.dispose();
    },
  };
}
