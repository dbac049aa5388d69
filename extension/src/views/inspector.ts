// The inspector: what is known of the blobs in focus, in tabs.

import { currentEvent, namesAt } from "../cursor";
import type { Merge, Trace } from "../trace";
import { element } from "./dom";
import { ledgerCard, ledgerFor, ledgerList } from "./ledger";
import { mergeCard, mergeFor } from "./merge";
import type { Navigation } from "./navigation";
import { blobChoice, valueCard } from "./value";

export const TABS = ["Value", "Ledger"] as const;
export type Tab = (typeof TABS)[number];

export interface Inspector {
  element: HTMLElement;
  show(position: number): void;
  /** Shows the blobs of one line instead of the event's; null goes back to the event. */
  select(line: string | null): void;
}

/** `chosen` holds the tab that the person chose; while there is none, the tab follows the event. */
export function createInspector(trace: Trace, navigation: Navigation, chosen: { tab: Tab | null }): Inspector {
  const panel = element("div", { class: "gv-inside", role: "tabpanel", tabindex: 0 });
  const tabs = createTabs((tab) => {
    chosen.tab = tab;
    draw();
  });
  const pane = element("div", { class: "gv-pane gv-inspector", role: "region", "aria-label": "Inspector" }, tabs.element, panel);
  let position = 0;
  let selected: string | null = null;
  let blob: string | null = null;

  function blobs(): string[] {
    const line = [...trace.forward, ...trace.backward].find((one) => one.id === selected);
    if (!line) return currentEvent(trace, position)?.blobs ?? [];
    const { inputs, outputs } = namesAt(line, position);
    return line.kind === "passed" ? [...inputs, ...outputs] : [...outputs, ...inputs];
  }

  function draw(): void {
    const own = selected === null ? currentEvent(trace, position)?.ledger : null;
    const found = [...new Set(blobs())];
    const merge = mergeFor(trace, position, selected === null ? null : found);
    const tab = chosen.tab ?? ((own ?? merge ?? null) === null ? "Value" : "Ledger");
    tabs.show(tab);
    panel.setAttribute("aria-label", tab);
    panel.replaceChildren(...(tab === "Value" ? valueTab(found) : ledgerTab(own, merge, found)));
  }

  function valueTab(found: string[]): HTMLElement[] {
    const shown = blob !== null && found.includes(blob) ? blob : found[0];
    if (shown === undefined) return [element("p", { class: "gv-quiet" }, nothingInFocus(position))];
    const choice = blobChoice(found, shown, (other) => {
      blob = other;
      draw();
      panel.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
    });
    return [choice, valueCard(trace, shown, position)];
  }

  function ledgerTab(own: number | null | undefined, merge: Merge | undefined, found: string[]): HTMLElement[] {
    const ledger = ledgerFor(trace, own, found);
    const cards = [...(merge ? [mergeCard(trace, merge)] : []), ...(ledger ? [ledgerCard(trace, ledger)] : [])];
    return cards.length > 0 ? cards : [ledgerList(trace, (to) => navigation.go(to))];
  }

  return {
    element: pane,
    show(to) {
      position = to;
      blob = null;
      draw();
    },
    select(line) {
      if (line === selected) return;
      selected = line;
      blob = null;
      draw();
    },
  };
}

function nothingInFocus(position: number): string {
  return position === 0 ? "Step to see the blobs of an event." : "This event is about no blob.";
}

/** A list of tabs; while one has the focus, the arrow keys move between them. */
function createTabs(choose: (tab: Tab) => void) {
  const buttons = TABS.map((tab) => {
    const button = element("button", { type: "button", role: "tab" }, tab);
    button.addEventListener("click", () => choose(tab));
    return button;
  });
  const list = element("div", { class: "gv-tabs", role: "tablist", "aria-label": "Inspector" }, ...buttons);
  list.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const step = event.key === "ArrowRight" ? 1 : -1;
    const index = (buttons.findIndex((one) => one === document.activeElement) + step + TABS.length) % TABS.length;
    event.preventDefault();
    event.stopPropagation();
    buttons[index]?.focus();
    const tab = TABS[index];
    if (tab) choose(tab);
  });

  function show(tab: Tab): void {
    buttons.forEach((button, index) => {
      button.setAttribute("aria-selected", String(TABS[index] === tab));
      button.tabIndex = TABS[index] === tab ? 0 : -1;
    });
  }

  return { element: list, show };
}
