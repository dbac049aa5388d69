// The inspector: what is known of the blobs in focus, in tabs.

import { currentEvent, namesAt } from "../cursor";
import { linesById, subnetOf, type Merge, type Trace } from "../trace";
import { roundsOf } from "../values";
import { breakpointCards } from "./breakpoints";
import { element } from "./dom";
import { ledgerCard, ledgerList, ledgersFor } from "./ledger";
import { mergeCard, mergeFor } from "./merge";
import type { Navigation } from "./navigation";
import { roundChoice } from "./rounds";
import { stateCards } from "./state";
import { blobChoice, valueCard } from "./value";
import { watchCards } from "./watch";

const TABS = ["Value", "Ledger", "State", "Breakpoints", "Watch"] as const;
export type Tab = (typeof TABS)[number];

/** The kinds of events that are about the state of a schedule. */
const OF_STATE = ["Visited", "GradWritten"];

export interface Inspector {
  element: HTMLElement;
  show(position: number): void;
  /** Shows the blobs of one line instead of the event's; null goes back to the event. */
  select(line: string | null): void;
  /** Shows the breakpoints and watches that there are. */
  mark(): void;
  /** Shows a tab, as if a person had chosen it. */
  open(tab: Tab): void;
  /** The blob that is shown, or would be in the Value tab. */
  blob(): string | undefined;
}

/** `chosen` holds the tab that the person chose; while there is none, the tab follows the event. */
export function createInspector(trace: Trace, navigation: Navigation, chosen: { tab: Tab | null }): Inspector {
  const panel = element("div", { class: "gv-inside", role: "tabpanel", tabindex: 0 });
  const offered = TABS.filter((tab) => tab !== "State" || trace.schedule !== null);
  const open = (tab: Tab): void => {
    chosen.tab = tab;
    draw();
  };
  const tabs = createTabs(offered, open);
  const pane = element("div", { class: "gv-pane gv-inspector", role: "region", "aria-label": "Inspector" }, tabs.element, panel);
  let position = 0;
  let selected: string | null = null;
  let blob: string | null = null;
  /** The run in which a person looks at the blob; null: the one that we are in. */
  let round: number | null = null;

  function blobs(): string[] {
    const line = selected === null ? undefined : linesById(trace).get(selected);
    if (!line) return currentEvent(trace, position)?.blobs ?? [];
    const { inputs, outputs } = namesAt(line, position);
    return line.kind === "passed" ? [...inputs, ...outputs] : [...outputs, ...inputs];
  }

  function draw(): void {
    const own = selected === null ? currentEvent(trace, position)?.ledger : null;
    const found = [...new Set(blobs())];
    const merge = mergeFor(trace, position, selected === null ? null : found);
    const tab = offered.find((one) => one === chosen.tab) ?? ((own ?? merge ?? null) === null ? following() : "Ledger");
    tabs.show(tab);
    panel.setAttribute("aria-label", tab);
    if (tab === "State") panel.replaceChildren(...stateCards(trace, position, navigation));
    else if (tab === "Breakpoints") panel.replaceChildren(...breakpointCards(trace, position, navigation));
    else if (tab === "Watch") panel.replaceChildren(...watchCards(trace, position, navigation));
    else panel.replaceChildren(...(tab === "Value" ? valueTab(found) : ledgerTab(own, merge, found)));
  }

  /** The tab that goes with the event where it is about no ledger. */
  function following(): Tab {
    const isOfState = selected === null && trace.schedule !== null && OF_STATE.includes(currentEvent(trace, position)?.kind ?? "");
    return isOfState ? "State" : "Value";
  }

  /** The nested net that the blobs belong to, and the run of it that we are in. */
  function where(): { subnet: string | null; frame: number | null } {
    const event = currentEvent(trace, position);
    if (selected === null) return { subnet: event?.subnet ?? null, frame: event?.frame ?? null };
    const subnet = subnetOf(selected);
    return { subnet, frame: subnet !== null && event?.subnet === subnet ? event.frame : null };
  }

  function valueTab(found: string[]): HTMLElement[] {
    const shown = inFocus(found);
    if (shown === undefined) return [element("p", { class: "gv-quiet" }, nothingInFocus(position))];
    const choice = blobChoice(found, shown, (other) => {
      blob = other;
      draw();
      panel.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
    });
    const { subnet, frame } = where();
    if (subnet === null) return [choice, valueCard(trace, { blob: shown, subnet, frame }, position)];
    const rounds = roundsOf(trace, subnet, shown, frame);
    const chosen = rounds.find((one) => one.frame === (round ?? frame)) ?? (frame === null ? rounds[0] : undefined);
    const turning = chosen && rounds.length > 1 ? [roundChoice(trace, rounds, chosen, look)] : [];
    return [choice, ...turning, valueCard(trace, { blob: shown, subnet, frame: chosen?.frame ?? frame }, position)];
  }

  function inFocus(found: string[]): string | undefined {
    return blob !== null && found.includes(blob) ? blob : found[0];
  }

  /** Draws the marks anew; what had the focus has it again, or what stands first in the tab. */
  function mark(): void {
    if (chosen.tab !== "Breakpoints" && chosen.tab !== "Watch") return;
    const focus = panel.contains(document.activeElement) ? (document.activeElement?.getAttribute("aria-label") ?? "") : null;
    draw();
    if (focus === null) return;
    const same = [...panel.querySelectorAll<HTMLElement>("[aria-label]")].find((one) => one.getAttribute("aria-label") === focus);
    (same ?? panel.querySelector<HTMLElement>("input"))?.focus({ preventScroll: true });
  }

  function look(chosen: { frame: number }): void {
    round = chosen.frame;
    const focus = document.activeElement?.getAttribute("aria-label");
    draw();
    panel.querySelector<HTMLElement>(`[aria-label="${focus ?? ""}"]`)?.focus({ preventScroll: true });
  }

  function ledgerTab(own: number | null | undefined, merge: Merge | undefined, found: string[]): HTMLElement[] {
    const { subnet, frame } = where();
    const ledgers = ledgersFor(trace, own, found, subnet, frame);
    const cards = [...(merge ? [mergeCard(trace, merge)] : []), ...ledgers.map((ledger) => ledgerCard(trace, ledger, navigation.go))];
    return cards.length > 0 ? cards : [ledgerList(trace, navigation.go)];
  }

  return {
    element: pane,
    mark,
    open,
    blob: () => inFocus(blobs()),
    show(to) {
      position = to;
      blob = null;
      round = null;
      draw();
    },
    select(line) {
      if (line === selected) return;
      selected = line;
      blob = null;
      round = null;
      draw();
    },
  };
}

function nothingInFocus(position: number): string {
  return position === 0 ? "Step to see the blobs of an event." : "This event is about no blob.";
}

/** A list of tabs; while one has the focus, the arrow keys move between them. */
function createTabs(offered: readonly Tab[], choose: (tab: Tab) => void) {
  const buttons = offered.map((tab) => {
    const button = element("button", { type: "button", role: "tab" }, tab);
    button.addEventListener("click", () => choose(tab));
    return button;
  });
  const list = element("div", { class: "gv-tabs", role: "tablist", "aria-label": "Inspector" }, ...buttons);
  list.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const step = event.key === "ArrowRight" ? 1 : -1;
    const index = (buttons.findIndex((one) => one === document.activeElement) + step + offered.length) % offered.length;
    event.preventDefault();
    event.stopPropagation();
    buttons[index]?.focus();
    const tab = offered[index];
    if (tab) choose(tab);
  });

  function show(tab: Tab): void {
    buttons.forEach((button, index) => {
      button.setAttribute("aria-selected", String(offered[index] === tab));
      button.tabIndex = offered[index] === tab ? 0 : -1;
    });
  }

  return { element: list, show };
}
