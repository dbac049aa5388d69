// The inspector: the blobs in focus, their values, gradients and rules, in tabs.

import { lastUnveiled, type Lesson } from "../../lesson/lesson";
import type { Answers, Problem } from "../../model/answers/asking";
import { currentEvent, faultAt, forwardLine, lineState, namesAt, textsOf } from "../../model/recording/cursor";
import { linesById, netOf, subnetOf } from "../../model/recording/lookup";
import { isComputed, roundsOf, type Place, type Round } from "../../model/recording/values";
import type { Line, Merge, Trace } from "../../model/schema";
import { createTabs } from "../elements/controls";
import { element, linkButton, quiet, refill } from "../elements/dom";
import type { Navigation } from "../elements/navigation";
import { createBreakpoints, watchCards, watchForm } from "./marks";
import { ledgerCard, ledgerList, ledgersFor, mergeCard, mergeFor } from "./ledger";
import { answerCard, changesSince, checkCards, pathsCard, singleCard, shownReply, versionsCards, whyCards } from "./questions";
import { roundChoice } from "./rounds";
import { stateCards } from "./state";
import { blobChoice, ruleCard, valueCard, type Corner, type Seen } from "./value";

const TABS = ["Value", "Ledger", "Why", "Versions", "Check", "State", "Breakpoints", "Watch"] as const;
type Tab = (typeof TABS)[number];

/** The kinds of events that are about the state of a schedule. */
const OF_STATE = ["Visited", "GradWritten"];

/** What the person chose of the inspector. */
export interface Chosen {
  /** While there is none, the tab follows the event. */
  tab: Tab | null;
  /** Whether numbers stand in a table and not in a heat map. */
  areNumbersInTable: boolean;
  isRuleOpen: boolean;
}

export function createInspector(trace: Trace, navigation: Navigation, chosen: Chosen, answers: Answers, lesson: Lesson) {
  const asking = { trace, answers, navigation, isVeiled: () => lesson.isOn };
  const panel = element("div", { class: "gv-inside", role: "tabpanel", tabindex: 0 });
  /** Shows a tab, as if a person had chosen it. */
  const open = (tab: Tab): void => {
    chosen.tab = tab;
    draw();
  };
  const tabs = createTabs("Inspector", TABS, open);
  const pane = element("div", { class: "gv-pane gv-inspector", role: "region", "aria-label": "Inspector" }, tabs.element, panel);
  // What is typed in them stays when the tab is drawn anew.
  const breakpoints = createBreakpoints(trace, navigation);
  const watch = watchForm(trace, navigation);
  let position = 0;
  let selected: string | null = null;
  let blob: string | null = null;
  /** The run in which a person looks at the blob; null: the one that we are in. */
  let round: number | null = null;
  /** The page of numbers that a person has turned to; null: what the document has. */
  let corner: Corner | null = null;

  function blobs(): string[] {
    const line = selected === null ? undefined : linesById(trace).get(selected);
    if (!line) return currentEvent(trace, position)?.blobs ?? [];
    if (lesson.isOn && lineState(trace, line, position) === "future") return [];
    const { inputs, outputs } = namesAt(line, position);
    return line.kind === "passed" ? [...inputs, ...outputs] : [...outputs, ...inputs];
  }

  function draw(): void {
    const own = selected === null ? currentEvent(trace, position)?.ledger : null;
    const names = [...new Set(blobs())];
    const merge = mergeFor(byNow(trace.merges), position, selected === null ? null : names);
    const isOfState = selected === null && trace.schedule !== null && OF_STATE.includes(currentEvent(trace, position)?.kind ?? "");
    const tab = chosen.tab ?? (selected === null && fault() ? "Why" : (own ?? merge ?? null) !== null ? "Ledger" : isOfState ? "State" : "Value");
    tabs.show(tab);
    panel.setAttribute("aria-label", tab);
    refill(panel, CONTENTS[tab](names, own, merge));
  }

  /** Why nothing is run, or it stops, where that is what is looked at. */
  function fault(): Problem | null {
    const event = currentEvent(trace, position);
    const isHere = selected === null ? event?.kind === "Failed" : faultAt(trace, selected, position) !== "";
    if (event?.kind === "Failed" && isHere) return { problem: String(event.detail["message"]), waysOut: textsOf(event, "ways_out") };
    const { obstacle } = trace;
    return obstacle && (isHere || (selected === null && !event)) ? { problem: obstacle.message, waysOut: obstacle.ways_out } : null;
  }

  function faultCard(): HTMLElement[] {
    const reply = fault();
    if (!reply) return [];
    const event = currentEvent(trace, position);
    const { perform } = navigation;
    const ssa = perform && event && textsOf(event, "versions").length > 0 ? [linkButton(() => perform("to_ssa"), "Debug the SSA form")] : [];
    return [element("section", { class: "gv-card gv-answer gv-fault", "aria-label": "What is wrong" }, ...shownReply(asking, reply), ...ssa)];
  }

  const CONTENTS: Record<Tab, (names: string[], own: number | null | undefined, merge: Merge | undefined) => HTMLElement[]> = {
    Value: (names) => [...blobTab(names, inFocus(names), (place, turning) => [...turning, valueCard(asking, place, position, seen())]), ...ruleCard(trace, line(), chosen)],
    Ledger: (names, own, merge) => ledgerTab(own, merge, names),
    Why: (names) => blobTab(names, subject(names), (place) => whyCards(asking, place, position, fault())),
    Versions: (names) => blobTab(names, inFocus(names), (place) => versionsCards(asking, place, position)),
    Check: checkTab,
    State: stateTab,
    Breakpoints: () => breakpoints(position, last()),
    Watch: () => [watch, ...watchCards(asking, position, last())],
  };

  /** The line that is looked at: the one that is selected, else that of the current operator. */
  function line(): Line | undefined {
    const event = currentEvent(trace, position);
    return linesById(trace).get(selected ?? forwardLine(event) ?? event?.lines.at(-1) ?? "");
  }

  const last = (): number => lastUnveiled(trace, position, lesson.isOn);

  /** Those of which the event has come, in a lesson; else all. */
  function byNow<T extends { at: number }>(all: T[]): T[] {
    return all.filter(({ at }) => at <= last());
  }

  /** Whether the value of a blob may be shown: in a lesson, when it is computed. */
  const isUnveiled = (place: Place): boolean => last() === Infinity || isComputed(trace, place, position);

  /** The nested net that the blobs belong to, and the run of it that we are in. */
  function where(): { subnet: string | null; frame: number | null } {
    const event = currentEvent(trace, position);
    if (selected === null) return { subnet: event?.subnet ?? null, frame: event?.frame ?? null };
    const subnet = subnetOf(selected);
    return { subnet, frame: subnet !== null && event?.subnet === subnet ? event.frame : null };
  }

  /** The blobs in focus to choose from, and what `cards` shows of the one that is shown; `turning` chooses its run. */
  function blobTab(names: string[], shown: string | undefined, cards: (place: Place, turning: HTMLElement[]) => HTMLElement[]): HTMLElement[] {
    if (shown === undefined) return [...faultCard(), quiet(position === 0 ? "Step to see the blobs of an event." : "This event is about no blob.")];
    const choice = blobChoice(names, shown, (other) => {
      blob = other;
      corner = null;
      redraw();
    });
    const { subnet, frame } = where();
    const rounds = (subnet === null ? [] : roundsOf(trace, subnet, shown, frame)).filter((one) => isUnveiled({ blob: shown, subnet, frame: one.frame }));
    const turned = rounds.find((one) => one.frame === (round ?? frame)) ?? (frame === null ? rounds[0] : undefined);
    const look = (one: Round): void => {
      round = one.frame;
      redraw();
    };
    const turning = turned && rounds.length > 1 ? [roundChoice(trace, rounds, turned, look)] : [];
    return [...faultCard(), choice, ...cards({ blob: shown, subnet, frame: turned?.frame ?? frame }, turning)];
  }

  function checkTab(names: string[]): HTMLElement[] {
    const shown = subject(names);
    if (shown === undefined) return checkCards(asking, null, selected, position);
    return blobTab(names, shown, (place) => checkCards(asking, place, selected, position));
  }

  function stateTab(): HTMLElement[] {
    const own = trace.schedule === null ? [answerCard(asking, { question: "state", arguments: [], position })] : stateCards(trace, position, navigation);
    return [...changesSince(asking, position), ...own];
  }

  function inFocus(names: string[]): string | undefined {
    return blob !== null && names.includes(blob) ? blob : names[0];
  }

  /** The same, but of itself a blob of the net: it is these that have gradients. */
  function subject(names: string[]): string | undefined {
    return blob !== null && names.includes(blob) ? blob : (names.find((one) => isOfNet(trace, where().subnet, one)) ?? names[0]);
  }

  function seen(): Seen {
    return {
      areInTable: chosen.areNumbersInTable,
      corner,
      toggle: toggleTable,
      turn(to) {
        corner = to;
        redraw();
      },
    };
  }

  function toggleTable(): void {
    if ((chosen.tab ?? "Value") === "Value") chosen.areNumbersInTable = !chosen.areNumbersInTable;
    else chosen.tab = "Value";
    redraw();
  }

  /** Draws anew; what had the focus has it again or, where that is gone, the field that the tab begins with. */
  function redraw(): void {
    const focused = panel.contains(document.activeElement) ? document.activeElement : null;
    draw();
    if (focused === null) return;
    const label = focused.getAttribute("aria-label");
    const same = [...panel.querySelectorAll<HTMLElement>("[aria-label]")].find((one) => one.getAttribute("aria-label") === label);
    (same ?? panel.querySelector<HTMLElement>("input") ?? panel).focus({ preventScroll: true });
  }

  /** Shows other blobs: what a person chose of the last ones is nothing to them. */
  function begin(): void {
    [blob, round, corner] = [null, null, null];
    draw();
  }

  function ledgerTab(own: number | null | undefined, merge: Merge | undefined, names: string[]): HTMLElement[] {
    const { subnet, frame } = where();
    const ledgersByNow = byNow(trace.ledgers);
    const ledgers = ledgersFor(ledgersByNow, trace.ledgers[own ?? -1], names, subnet, frame);
    const cards = [...(merge ? [mergeCard(trace, merge)] : []), ...ledgers.map((ledger) => ledgerCard(trace, ledger, position, lesson.isOn, navigation.go))];
    const inView = subject(names);
    const place: Place | null = ledgers[0] ?? (inView === undefined ? null : { blob: inView, subnet, frame });
    if (cards.length === 0 && place) cards.push(...singleCard(asking, place, position));
    return [...(cards.length > 0 ? cards : [ledgerList(trace, ledgersByNow, navigation.go)]), ...(place ? pathsCard(asking, place, position) : [])];
  }

  return {
    element: pane,
    mark: () => (chosen.tab === "Breakpoints" || chosen.tab === "Watch") && redraw(),
    open,
    toggleTable,
    teach: draw,
    /** The blob that is shown, or would be in the Value tab. */
    blob: () => inFocus(blobs()),
    show(to: number) {
      position = to;
      begin();
    },
    /** Shows the blobs of one line instead of the event's; null goes back to the event. */
    select(line: string | null) {
      if (line === selected) return;
      selected = line;
      begin();
    },
    dispose: tabs.dispose,
  };
}

/** Whether a blob is there without the backward pass. */
function isOfNet(trace: Trace, subnet: string | null, blob: string): boolean {
  return netOf(trace, subnet)?.forward.some(({ inputs, outputs }) => inputs.includes(blob) || outputs.includes(blob)) ?? false;
}
