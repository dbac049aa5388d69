// The inspector's Value tab: the blobs in focus, and what is known of the one that is chosen.

import { computedAt, isComputed, loopAround, makerOf, roundText, valueOf, type Place } from "../../model/recording/values";
import type { Line, Scalar, Trace, Value } from "../../model/schema";
import { describe, histogram, note, picture, NOT_YET } from "../elements/array";
import { createChoice } from "../elements/choice";
import { element, version, type Child } from "../elements/dom";
import { count, quantity, NOT_COMPUTED } from "../elements/numbers";
import type { Asking } from "./answer";
import { asked } from "./questions";
import { numbersTable, type Corner } from "./table";
import { workspacesCard } from "./workspaces";

/** The blobs to choose from; `choose` gets the one that is clicked. */
export function blobChoice(blobs: readonly string[], chosen: string, choose: (blob: string) => void): HTMLElement {
  const choice = createChoice("gv-chips", "Blobs in focus", blobs, (blob) => ({ content: version(blob) }), choose);
  choice.show(chosen);
  return choice.element;
}

/** How the numbers are looked at. */
export interface Seen {
  areInTable: boolean;
  /** The page of the table; null: what the document has. */
  corner: Corner | null;
  toggle(): void;
  turn(corner: Corner): void;
}

/** What is known of one blob version at a position. */
export function valueCard(asking: Asking, place: Place, position: number, seen: Seen): HTMLElement {
  const { trace, isVeiled } = asking;
  const { blob, subnet, frame } = place;
  const value = subnet !== null && frame === null ? undefined : valueOf(trace, frame, blob);
  const maker = makerOf(trace, blob, subnet);
  const card = element("div", { class: "gv-card gv-value", role: "group", "aria-label": blob });
  const isLater = value !== undefined && !isComputed(trace, place, position);
  if (!value) card.append(notComputed(trace, place, maker));
  else if (isLater && isVeiled()) card.append(element("p", { class: "gv-not-computed" }, element("b", {}, NOT_YET)));
  else if (value.stack !== null) card.append(workspacesCard(trace, value.stack), ...origin(trace, maker, position, value, frame));
  else {
    const head = element("div", {}, element("b", {}, describe(value)), ...origin(trace, maker, position, value, frame), ...nextReader(trace, place, position, isVeiled() ? position : Infinity));
    card.append(head, ...(isLeftOut(value) ? [note("Its numbers were left out to keep this recording small.")] : [numbers(asking, place, value, seen), statistics(value)]));
  }
  return card;
}

/** Whether there is an array of which the document keeps only what it is: a page has room for so many numbers. */
function isLeftOut(value: Value): boolean {
  return value.norm === null && value.size > 0;
}

/** The numbers as a heat map or a table, and their histogram. */
function numbers(asking: Asking, place: Place, value: Value, seen: Seen): HTMLElement {
  const isPlain = value.size <= 1 || value.preview.length === 0;
  const name = asked(asking.trace, place);
  const shown = seen.areInTable && !isPlain ? numbersTable(asking, name, value, seen.corner, seen.turn) : picture(place.blob, value);
  return element("div", { class: "gv-card gv-seen" }, ...(isPlain ? [] : [looks(seen)]), shown, ...histogram(value));
}

function looks({ areInTable, toggle }: Seen): HTMLElement {
  const choice = createChoice("gv-segments", "Numbers as", ["Heat map", "Table"], (name) => ({ title: `${name} (n)` }), toggle);
  choice.show(areInTable ? "Table" : "Heat map");
  return choice.element;
}

/** Of the operators made by a position the one that reads a blob version next; those in nested nets are told of in other tabs. */
function nextReader(trace: Trace, { blob, subnet }: Place, position: number, by: number): HTMLElement[] {
  if (subnet !== null) return [];
  const readers = [...trace.forward, ...trace.backward].filter(({ made, ran, inputs }) => made <= by && ran !== null && ran > position && inputs.includes(blob));
  const next = readers.reduce<Line | null>((first, one) => (first === null || (one.ran ?? 0) < (first.ran ?? 0) ? one : first), null);
  return next ? [note(`read next at event ${next.ran}, by ${next.type}`)] : [];
}

function notComputed(trace: Trace, { blob, subnet, frame }: Place, maker: Line | undefined): HTMLElement {
  const name = element("code", {}, ...version(blob));
  const where = frame === null ? "" : ` in ${roundText(trace, loopAround(trace, frame)) || "this run"}`;
  const why: Child[] = maker
    ? [name, ` is written by ${maker.type}, which was not run${where}.`]
    : subnet === null
      ? ["Nothing was fed as ", name, ", and no operator writes it under this name."]
      : [name, ` comes from around the nested net, which did not see it${where}.`];
  return element("p", { class: "gv-not-computed" }, element("b", {}, NOT_COMPUTED), element("br"), ...why);
}

function origin(trace: Trace, maker: Line | undefined, position: number, value: Value, frame: number | null): HTMLElement[] {
  if (!maker) return [note(frame === null ? "fed" : "from around the nested net")];
  if (trace.schedule !== null && maker.role === "forward") return [note(`computed when ${maker.type} was called`)];
  const at = frame === null ? maker.ran : computedAt(trace, frame, maker.id);
  if (at === null) return frame === null ? [] : [note(`found there; ${maker.type} made it`)];
  const seconds = frame === null ? (value.seconds) : (trace.events[at - 1]?.seconds ?? null);
  const took = seconds === null ? "" : ` in ${duration(seconds)}`;
  const when = at > position ? `computed later, at event ${at}` : `computed at event ${at}`;
  return [note(`${when}, by ${maker.type}${took}`)];
}

function duration(seconds: number): string {
  if (seconds < 1e-3) return `${quantity(seconds * 1e6)} µs`;
  return seconds < 1 ? `${quantity(seconds * 1e3)} ms` : `${quantity(seconds)} s`;
}

function statistics(value: Value): HTMLElement {
  const known = (label: string, found: Scalar | null): [string, string, boolean] => [label, found === null ? "none" : quantity(found), false];
  const counted = (label: string, found: number, isBad: boolean): [string, string, boolean] => [label, count(found), isBad && found > 0];
  const of = value.dtype.startsWith("complex") ? " |·|" : "";
  const rows: [string, string, boolean][] = [
    known(`min${of}`, value.min), known(`max${of}`, value.max), ...(of ? [] : [known("mean", value.mean)]), known("mean |·|", value.mean_abs),
    known("norm ‖·‖", value.norm), counted("zeros", value.zero, false), counted("NaN", value.nan, true), counted("infinite", value.inf, true),
    ...(value.subnormal ? [counted("subnormal", value.subnormal, true)] : []),
  ];
  const table = element("div", { class: "gv-statistics", role: "list" });
  for (const [label, shown, isBad] of rows) {
    const pair = [element("span", { class: "gv-note" }, label), " ", element("span", {}, shown)];
    table.append(element("div", { role: "listitem", class: isBad ? "gv-bad" : false }, ...pair));
  }
  return table;
}
