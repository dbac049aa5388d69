// Moving over a trace: where operators and nested nets begin and end, where each verb leads, how lines are then, and what is
// said of it.
//
// Position p stands between event p - 1, the current one, and event p, the next one: p events have happened. An
// EnteredSubnet opens a nested net that its LeftSubnet closes; a net in which the recording stops stays open.

import type { Frame, Line, Names, Narration, Subnet, Trace, TraceEvent } from "../schema";
import { allLines, beginOf, behind, eachEvent, endOf, eventAt, forwardId, isObstacle, lengthOf, linesById, linesNamed, memoized, outward, subnetsById } from "./lookup";

/** A stay in a nested net. */
export interface Stay {
  subnet: Subnet;
  /** The run of the net; null while the pass is generated. */
  frame: number | null;
  /** The event that entered it. */
  entered: number;
  /** The event that left it, the last one here where none did. */
  end: number;
  around: Stay | null;
}

/** Where operators and nested nets begin and end, by the numbers of events in the recording. */
export const placesOf = memoized((trace) => {
  const begin = beginOf(trace);
  /** The first event of each group, and the last one. */
  const groups = new Map<number, { first: number; last: number }>();
  const stays = new Map<number | null, Stay>();
  let stay: Stay | null = null;
  const enter = (entered: number, { subnet, frame }: Pick<TraceEvent, "subnet" | "frame">): void => {
    // A document is refused whose events enter a net that it does not have.
    const net = subnetsById(trace).get(subnet ?? "") as Subnet;
    stay = { subnet: net, frame, entered, end: endOf(trace) - 1, around: stay };
    stays.set(frame, stay);
  };
  for (const one of trace.part?.entered ?? []) enter(one.at - 1, one);
  /** The innermost stay that is open at each position. */
  const open: (Stay | null)[] = [stay];
  trace.events.forEach((event, index) => {
    const number = begin + index;
    groups.set(event.group, { first: groups.get(event.group)?.first ?? number, last: number });
    if (event.kind === "LeftSubnet" && stay) {
      stay.end = number;
      stay = stay.around;
    }
    if (event.kind === "EnteredSubnet") enter(number, event);
    open.push(stay);
  });
  return {
    at: (position: number): Stay | null => open[position - begin] ?? null,
    of: (frame: number): Stay | undefined => stays.get(frame),
    /** The events of the group of an event; undefined: there is no such event. */
    group: (number: number) => groups.get(eventAt(trace, number)?.group ?? -1),
  };
});

/** After what begins at the position: an operator with all that it brings, a net that is entered, or one event. */
export function over(trace: Trace, position: number): number {
  const places = placesOf(trace);
  const [kind, group] = [eventAt(trace, position)?.kind, places.group(position)];
  if (!group) return position;
  const isInside = group.first < position;
  if (isInside && kind === "EnteredSubnet") return (places.at(position + 1)?.end ?? position) + 1;
  return isInside && kind === "LeftSubnet" ? position + 1 : group.last + 1;
}

/** Before what ends at the position: the reverse of `over`. */
export function backOver(trace: Trace, position: number): number {
  const places = placesOf(trace);
  const [kind, group] = [eventAt(trace, position - 1)?.kind, places.group(position - 1)];
  if (!group) return position;
  const isInside = group.last > position - 1;
  if (isInside && kind === "LeftSubnet") return Math.max(beginOf(trace), places.at(position - 1)?.entered ?? 0);
  return isInside && kind === "EnteredSubnet" ? position - 1 : group.first;
}

/** Inside the next nested net that the operator at the position enters; a step where it enters none. */
export function into(trace: Trace, position: number): number {
  const end = placesOf(trace).group(position)?.last ?? -1;
  for (let number = position; number <= end; number++) {
    const kind = eventAt(trace, number)?.kind;
    if (kind === "EnteredSubnet") return number + 1;
    if (kind === "LeftSubnet") break;
  }
  return Math.min(position + 1, endOf(trace));
}

/** After the innermost nested net that is open; in the outermost one, after what the operator brings. */
export function out(trace: Trace, position: number): number {
  const places = placesOf(trace);
  const stay = places.at(position);
  if (stay) return stay.end + 1;
  const behind = (places.group(position - 1)?.last ?? -1) + 1;
  return behind > position ? behind : over(trace, position);
}

/** The stays in nested nets that are open at a position, from the outside in. */
export function crumbs(trace: Trace, position: number): Stay[] {
  return outward(placesOf(trace).at(position), ({ around }) => around).reverse();
}

/** "2.loop_net[3]/0.net" for the nested net of an event, or one that it enters; without a run "2.loop_net/0.net". */
export function pathOf(trace: Trace, event: Pick<TraceEvent, "subnet" | "frame">): string {
  if (event.frame === null) return subnetsById(trace).get(event.subnet ?? "")?.path.join("/") ?? "";
  return runsAround(trace, event.frame).map((frame) => elementOf(trace, frame)).reverse().join("/");
}

/** A run of a nested net and those that it is part of, from the innermost. */
export function runsAround(trace: Trace, frame: number): Frame[] {
  return outward(trace.frames[frame], ({ around }) => trace.frames[around ?? -1]);
}

function elementOf(trace: Trace, frame: Frame): string {
  const element = `${frame.operator}.${subnetsById(trace).get(frame.subnet)?.argument ?? ""}`;
  return frame.iteration === null ? element : `${element}[${frame.iteration}]`;
}

/** Every position whose event matches a target. */
export function occursAt(trace: Trace, target: string): number[] {
  const isPassage = /^\d+\.\w+(\[\d+\])?|^iteration \d+$/.test(target);
  const positions: number[] = [];
  eachEvent(trace, (event, position) => {
    if (event.targets.includes(target) || (isPassage && passes(trace, event, target))) positions.push(position);
  });
  return positions;
}

/** Whether an event enters the nested net, the run or the iteration that a target names. */
function passes(trace: Trace, event: TraceEvent, target: string): boolean {
  if (event.kind !== "EnteredSubnet") return false;
  const frame = event.frame === null ? undefined : trace.frames[event.frame];
  if (!frame) {
    const path = pathOf(trace, event);
    return path === target || (!target.includes("/") && path.endsWith(`/${target}`));
  }
  const element = elementOf(trace, frame);
  if (element === target || element.replace(/\[\d+\]$/, "") === target) return true;
  if (target.startsWith("iteration ")) return element.includes(".loop_net[") && target === `iteration ${frame.iteration}`;
  return target.includes("/") && pathOf(trace, event) === target;
}

/**
 * The same place in another iteration of the innermost loop that is open: the next event, forward or back in time, that
 * is about the same lines in the iteration `by` further on, else the beginning of that iteration. Null: there is none.
 */
export function otherIteration(trace: Trace, position: number, by: 1 | -1): number | null {
  const round = crumbs(trace, position).reverse().find(({ frame }) => frame !== null && trace.frames[frame]?.iteration !== null);
  const event = currentEvent(trace, position);
  if (!round || !event) return null;
  const entered = sibling(trace, round, by);
  if (entered === null) return null;
  const end = placesOf(trace).at(entered + 1)?.end ?? entered;
  for (let number = entered; number <= end; number++) {
    const other = eventAt(trace, number);
    if (other && other.lines[0] === event.lines[0] && other.kind === event.kind && other.subnet === event.subnet) return number + 1;
  }
  return entered + 1;
}

/** The event that enters the same net in the iteration `by` further on. */
function sibling(trace: Trace, round: Stay, by: 1 | -1): number | null {
  const frame = trace.frames[round.frame ?? -1];
  for (let number = round.entered + by; frame && number >= beginOf(trace) && number < endOf(trace); number += by) {
    const event = eventAt(trace, number);
    const other = event?.kind === "EnteredSubnet" && event.frame !== null ? trace.frames[event.frame] : undefined;
    if (!other || other.subnet !== frame.subnet || other.around !== frame.around || other.operator !== frame.operator) continue;
    return other.iteration === (frame.iteration ?? 0) + by ? number : null;
  }
  return null;
}

/** future: to come (a forward operator never is: the net is there before anything happens); current: the forward operator being visited; new: brought, changed or run by the current event. */
export const STATES = ["future", "past", "current", "new"] as const;
export type LineState = (typeof STATES)[number];

export function clamp(trace: Trace, position: number): number {
  return Math.min(Math.max(Math.trunc(position) || 0, 0), lengthOf(trace));
}

/** The event that led to the position; undefined at 0. */
export function currentEvent(trace: Trace, position: number): TraceEvent | undefined {
  return eventAt(trace, position - 1);
}

/** The id of the forward line that an event is about; undefined where it is about none. */
export function forwardLine(event: TraceEvent | undefined): string | undefined {
  if (!event || event.forward === null) return undefined;
  return forwardId(event.subnet, event.forward);
}

/** The forward line that an event is about; undefined where it is about none. */
export function visitedBy(trace: Trace, event: TraceEvent | undefined): Line | undefined {
  return linesById(trace).get(forwardLine(event) ?? "");
}

/** The ids of the lines that an event makes, changes or runs, and of the forward line that it is about. */
export function linesAbout(event: TraceEvent | undefined): string[] {
  return [...(event?.lines ?? []), forwardLine(event)].filter((id) => id !== undefined);
}

export function lineState(trace: Trace, line: Line, position: number): LineState {
  if (line.role !== "forward" && line.made > position) return "future";
  const event = currentEvent(trace, position);
  if (event?.lines.includes(line.id)) return "new";
  return forwardLine(event) === line.id ? "current" : "past";
}

/** Whether the pass stops while it is generated: how long it would have been nobody knows, and nothing is run. */
export function isRefused({ events }: Trace): boolean {
  const last = events.at(-1);
  return last?.kind === "Failed" && last.phase === "generate";
}

/** A list of texts among an event's own fields. */
export function textsOf(event: TraceEvent, field: string): string[] {
  const value = event.detail[field];
  return Array.isArray(value) ? value.map(String) : [];
}

/** What is wrong with a line: that it keeps the program from being run or, at the event that says so, stops it; "": nothing. */
export function faultAt(trace: Trace, line: string, position: number): string {
  if (isObstacle(trace, line)) return "cannot be run";
  const event = currentEvent(trace, position);
  if (event?.kind !== "Failed") return "";
  const [isMarked, isVisited, [lost]] = [event.lines.includes(line), forwardLine(event) === line, textsOf(event, "versions")];
  if (lost !== undefined) return isMarked ? `overwrites ${lost}` : isVisited ? `∂ needs ${lost}` : "";
  return isMarked || (isVisited && event.lines.length === 0) ? "it stops here" : "";
}

/** Whether the line's operator has been executed at the position. */
export function hasRun(line: Line, position: number): boolean {
  return line.ran !== null && line.ran <= position;
}

/** Whether what the line wrote is stale at the position: somebody has changed what it had read. */
export function isStale({ stale }: Line, position: number): boolean {
  return stale !== null && stale <= position;
}

/** Index into the line's history: its form at the position; the first form before that. */
export function formAt(line: Line, position: number): number {
  let index = 0;
  while ((line.history[index + 1]?.at ?? Infinity) <= position) index++;
  return index;
}

/** The blobs that the line reads and writes, by the names they have at the position. */
export function namesAt(line: Line, position: number): Names {
  return line.history[formAt(line, position)] ?? line;
}

/** In a template of a narration. */
export const PLACE = /\{[a-z_]+\}/g;

/** What the event before a position means, by a template of Python's and what fills its places; at the start what the recording is about. */
export function narrationAt(trace: Trace, position: number): string {
  const narration = currentEvent(trace, position)?.narration;
  if (!narration) return trace.summary;
  let place = 0;
  return (trace.templates[narration.template] ?? "").replace(PLACE, () => narration.arguments[place++] ?? "");
}

/** How many characters a narration by one of these templates has. */
export function lengthBy(templates: string[]): (narration: Narration) => number {
  const bare = templates.map((template) => template.replace(PLACE, "").length);
  return (narration) => narration.arguments.reduce((length, one) => length + one.length, bare[narration.template] ?? 0);
}

/** How many of the lines are operators, and how many of these exist by a position. */
export function operatorCounts(lines: readonly Line[]): { all: number; by(position: number): number } {
  const operators = lines.filter(({ kind }) => kind !== "passed").sort((a, b) => a.made - b.made);
  const counts = [0];
  for (const { many } of operators) counts.push((counts.at(-1) ?? 0) + many);
  return { all: counts[operators.length] ?? 0, by: (position) => counts[behind(operators, position, (line) => line.made)] ?? 0 };
}

/**
 * Tells which lines can look different after a move, by their ids; `from` is null before anything was shown. A step touches
 * few of the lines: views that look only at these stay quick in long programs.
 */
export function touchedLines(trace: Trace): (from: number | null, to: number) => Set<string> {
  const changes: string[][] = [];
  const lines = allLines(trace);
  for (const line of lines) {
    for (const position of new Set([line.made, line.ran ?? line.made, line.stale ?? line.made, ...line.history.map((form) => form.at)])) {
      (changes[position] ??= []).push(line.id);
    }
  }
  eachEvent(trace, (event, position) => {
    if (event.frame !== null) (changes[position] ??= []).push(...anew(trace, event));
  });
  const marked = (position: number): string[] => linesAbout(currentEvent(trace, position));
  return (from, to) => {
    if (from === null) return new Set(lines.map((line) => line.id));
    const between = changes.slice(Math.min(from, to) + 1, Math.max(from, to) + 1).flat();
    return new Set([...between, ...marked(from), ...marked(to)]);
  };
}

/** What gets another value by an event in a run of a nested net: what runs once more, or passes on what comes from around the net. */
function anew(trace: Trace, { kind, lines, subnet }: TraceEvent): readonly string[] {
  if (kind === "Ran") return lines;
  if (kind !== "EnteredSubnet") return [];
  const net = subnetsById(trace).get(subnet ?? "");
  return (net?.backward ?? []).filter((line) => line.kind === "passed").map(({ id }) => id);
}

/** From where an operator was made the position where it ran first, or back; null: there is none, or it never ran. */
export function otherClock(trace: Trace, position: number): number | null {
  const event = currentEvent(trace, position);
  if (!event) return null;
  const about = operatorsOf(trace, event);
  if (event.kind === "Ran") return about[0]?.made ?? null;
  return about.find((line) => line.ran !== null)?.ran ?? null;
}

/** The operators of an event: those that it makes or runs, else the forward operator. */
function operatorsOf(trace: Trace, event: TraceEvent): Line[] {
  const forward = forwardLine(event);
  const ids = event.lines.length > 0 || forward === undefined ? [...event.lines] : [forward];
  // Of an accumulation the last line is the sum; the others were only renamed.
  if (event.kind === "Accumulated") ids.reverse();
  return linesNamed(trace, ids).filter((line) => line.kind === "operator");
}
