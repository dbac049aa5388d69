// Which value a blob version has: around all nested nets there is one, in a nested net one for each run. What an array tells
// where it is small. Which blob a gradient is of, and which gradient a blob has, as the events of a recording tell it.

import type { Frame, Line, Scalar, Trace, TraceEvent, Value } from "../schema";
import { placesOf, runsAround } from "./cursor";
import { addTo, bare, beginOf, eachEvent, eventAt, lengthOf, memoized, memoizedByText, outward, subnetsById } from "./lookup";

/** A blob version, the nested net that it belongs to, and the run that is meant; null: the outermost net. */
export interface Place {
  blob: string;
  subnet: string | null;
  frame: number | null;
}

/** A blob version of a nested net in one of its runs. */
export interface Round {
  /** The run, an index into the trace's frames. */
  frame: number;
  /** Of the forward loop, null where no loop is around. */
  iteration: number | null;
  value: Value;
}

/** The recorded value of a blob version in a run of a nested net, or around all of them. */
export function valueOf(trace: Trace, frame: number | null, blob: string): Value | undefined {
  if (frame === null) return trace.values[blob];
  const run = trace.frames[frame];
  const slot = run ? (subnetsById(trace).get(run.subnet)?.blobs.indexOf(blob) ?? -1) : -1;
  const number = run?.values[slot] ?? null;
  return number === null ? undefined : trace.arrays[number];
}

/**
 * A blob version of a nested net in every iteration of the innermost loop around it, in the order of the forward pass.
 * `frame` is the run that we are in: of several loops it says which one is meant; null: the first.
 */
export function roundsOf(trace: Trace, subnet: string, blob: string, frame: number | null): Round[] {
  const loops = loopsOf(trace, subnet, blob);
  const here = frame === null ? undefined : loops.find((rounds) => rounds.some((round) => round.frame === frame));
  return here ?? loops[0] ?? [];
}

/** The same for each run of each loop around the blob, forward and backward. */
const loopsOf = memoizedByText((trace, subnet: string, blob: string): Round[][] => {
  const loops = new Map<string, Round[]>();
  trace.frames.forEach((run, number) => {
    const value = run.subnet === subnet ? valueOf(trace, number, blob) : undefined;
    if (!value) return;
    const round = loopAround(trace, number);
    addTo(loops, `${round?.around} ${round?.operator} ${run.is_backward}`, { frame: number, iteration: round && forwardIteration(round), value });
  });
  return [...loops.values()].map((rounds) => rounds.sort((a, b) => (a.iteration ?? 0) - (b.iteration ?? 0)));
});

/** The innermost iteration of a loop that a run is part of. */
export function loopAround(trace: Trace, frame: number): Frame | null {
  return runsAround(trace, frame).find(({ iteration }) => iteration !== null) ?? null;
}

/** The iteration of the forward loop that a round of a loop belongs to: its backward pass takes the last one first. */
export function forwardIteration(round: Frame): number {
  const iteration = round.iteration ?? 0;
  return round.is_backward && round.iterations !== null ? round.iterations - 1 - iteration : iteration;
}

/** "iteration 3 of 5", "test 5 of 6" for a condition, "" for a run that is part of no loop. */
export function roundText(trace: Trace, round: Frame | null | undefined): string {
  if (!round || round.iteration === null) return "";
  const count = round.iterations === null ? "" : ` of ${round.iterations}`;
  const isTest = subnetsById(trace).get(round.subnet)?.argument === "cond_net";
  return isTest ? `test ${round.iteration}${count}` : `iteration ${forwardIteration(round)}${count}`;
}

/** The line of a net that writes a blob version, if one does; a stretch where one of its operators does. */
export function makerOf(trace: Trace, blob: string, subnet: string | null): Line | undefined {
  return makersIn(trace).get(keyOf(subnet, blob));
}

const makersIn = memoized((trace) => {
  const makers = new Map<string, Line>();
  for (const { id, forward, backward } of [{ ...trace, id: null }, ...trace.subnets]) {
    for (const line of [...backward, ...forward].reverse()) {
      if (line.kind !== "passed") for (const blob of line.outputs) makers.set(keyOf(id, blob), line);
    }
  }
  return makers;
});

/** The recorded value at a place; undefined: there is none, or of a nested net no run is meant. */
export function recordedAt(trace: Trace, { blob, subnet, frame }: Place): Value | undefined {
  return subnet !== null && frame === null ? undefined : valueOf(trace, frame, blob);
}

/** What a blob version is at a position; undefined: it was not computed yet, or never will be. */
export function valueAt(trace: Trace, place: Place, position: number): Value | undefined {
  const value = recordedAt(trace, place);
  return value && isComputed(trace, place, position) ? value : undefined;
}

/** Whether a blob version that gets a value has it by a position: the run that it is of has come so far. */
export function isComputed(trace: Trace, { blob, subnet, frame }: Place, position: number): boolean {
  const maker = makerOf(trace, blob, subnet);
  if (frame === null) return !maker || ranAt(trace, maker) <= position;
  const since = (maker && computedAt(trace, frame, maker.id)) ?? inputSince(trace, frame, maker);
  return since !== null && since <= position;
}

/** Since when a run has what it found: what comes from around its net and, in one of a backward pass, from the run forward. */
function inputSince(trace: Trace, frame: number, maker: Line | undefined): number | null {
  const isInput = !maker || (maker.role === "forward" && trace.frames[frame]?.is_backward);
  const stay = isInput ? placesOf(trace).of(frame) : undefined;
  return stay ? stay.entered + 1 : null;
}

/** Functions of a define-by-run pass had run when they were called; what never ran here was found computed. */
function ranAt(trace: Trace, maker: Line): number {
  return isCalled(trace, maker) ? maker.made : (maker.ran ?? 0);
}

/** Whether a line is a function that had run when it was called. */
export function isCalled({ part, schedule }: Trace, { role }: Line): boolean {
  return role === "forward" && (part ? part.is_called : schedule !== null);
}

/** The run forward that a run of a backward pass goes back through: a loop goes through its last iteration first. */
export function forwardRun(trace: Trace, frame: number): number | null {
  let around: number | null = null;
  for (const run of runsAround(trace, frame).reverse()) {
    const iteration = run.is_backward && run.iteration !== null ? forwardIteration(run) : run.iteration;
    const forward = trace.frames.findIndex((one) => !one.is_backward && one.subnet === run.subnet && one.around === around && one.iteration === iteration);
    if (forward < 0) return null;
    around = forward;
  }
  return around;
}

/** The workspaces on a stack, the last one first: the runs that left them, null for one from before the recording. */
export function workspacesOn(trace: Trace, stack: number): (number | null)[] {
  const stacks = outward(trace.stacks[stack], ({ below }) => trace.stacks[below ?? -1]);
  return stacks.filter(({ count }) => count > 0).map(({ frame }) => frame);
}

/** The blobs of a workspace that a run has left, each at its last version. */
export function blobsIn(trace: Trace, frame: number): string[] {
  const blobs = subnetsById(trace).get(trace.frames[frame]?.subnet ?? "")?.blobs ?? [];
  const there = blobs.filter((blob) => valueOf(trace, frame, blob));
  return [...new Map(there.map((blob) => [bare(blob), blob])).values()];
}

/** The position after which a run has computed what a line writes; null: it has not. */
export function computedAt(trace: Trace, frame: number, line: string): number | null {
  const stay = placesOf(trace).of(frame);
  if (!stay) return null;
  for (let number = Math.max(stay.entered, beginOf(trace)); number <= stay.end; number++) {
    const event = eventAt(trace, number);
    if (event?.kind === "Ran" && event.frame === frame && event.lines[0] === line) return number + 1;
  }
  return null;
}

/** Arrays with more elements are shown by their shape and norm. */
const TINY = 4;

/** Whether the numbers of a value, which was computed, were left out to keep a page small. */
export const isLeftOut = ({ norm, size, stack }: Value): boolean => norm === null && size > 0 && stack === null;

/** All elements of a tiny array; null where it is larger, or they were left out. */
export function elementsOf(value: Value): Scalar[] | null {
  const elements = value.preview.flat();
  return value.size > 0 && value.size <= TINY && elements.length === value.size ? elements : null;
}

/** The same as numbers; null where one is none, or a complex one, of which the absolute value alone is recorded. */
export function numbersOf(value: Value | null | undefined): number[] | null {
  const elements = value && value.stack === null && !value.dtype.startsWith("complex") ? elementsOf(value) : null;
  return elements?.every((one) => typeof one === "number") ? (elements as number[]) : null;
}

/** A gradient that a blob version has from one position on. */
export interface GradientSince {
  at: number;
  /** The blob version that holds it; of a sparse one, its rows. */
  values: string;
  /** The forward operator that it comes through, an index into its net's lines; null: a sum, or the one that a y starts with. */
  through: number | null;
  /** Whether gradients that came before are added up in it. */
  isSum: boolean;
}

const TELL = new Set<TraceEvent["kind"]>(["Seeded", "GeneratorAdded", "Accumulated"]);
const keyOf = (subnet: string | null, version: string): string => `${subnet ?? ""} ${version}`;

const gradientsIn = memoized((trace) => {
  const completed = trace.events.findIndex(({ kind, subnet }) => kind === "Completed" && subnet === null);
  const gradients = {
    /** The blob versions that a gradient version is of, the first one first. */
    blobs: new Map<string, string[]>(),
    /** What tells to which rows those of a sparse gradient belong. */
    indices: new Set<string>(),
    /** The gradients of a blob version, as they came. */
    since: new Map<string, GradientSince[]>(),
    /** Behind the event that completes the pass of the outermost net; infinity where none does. */
    complete: trace.part?.whole ?? (completed < 0 ? Infinity : completed + 1),
  };
  eachEvent(trace, (event, at) => {
    if (!TELL.has(event.kind)) return;
    const blob = `${String(event.detail["blob"] ?? event.detail["y"])}@${String(event.detail["version"])}`;
    const end = event.blobs.indexOf(blob, 1);
    if (end < 1) return;
    // Of an accumulation the sum stands first, its terms behind the blob.
    const parts = event.blobs.slice(0, end);
    const values = valuesAmong(parts, event.detail["gradient"]);
    addTo(gradients.blobs, keyOf(event.subnet, values), blob);
    for (const part of parts) if (part !== values) gradients.indices.add(keyOf(event.subnet, part));
    addTo(gradients.since, keyOf(event.subnet, blob), { at, values, through: event.kind === "GeneratorAdded" ? event.forward : null, isSum: event.kind === "Accumulated" });
  });
  return gradients;
});

/** Of the parts of a gradient, whose name an event tells, the one with its values. */
function valuesAmong(parts: readonly string[], name: unknown): string {
  const values = typeof name === "object" && name !== null ? (name as Record<string, unknown>)["values"] : null;
  return parts.find((part) => bare(part) === values) ?? parts[0] ?? "";
}

/** Whether a blob version is the indices of a sparse gradient, whose numbers are no gradient. */
export function isIndices(trace: Trace, subnet: string | null, blob: string): boolean {
  return gradientsIn(trace).indices.has(keyOf(subnet, blob));
}

/** The blob version that a gradient version is of, one of `among` where it is of several; undefined: it is no gradient. */
export function blobOf(trace: Trace, subnet: string | null, gradient: string, among: readonly string[] = []): string | undefined {
  const blobs = gradientsIn(trace).blobs.get(keyOf(subnet, gradient)) ?? [];
  return blobs.find((blob) => among.includes(blob)) ?? blobs[0];
}

/** All gradients that a blob version gets, as they come: contributions, then their sum. */
export function gradientsOf(trace: Trace, subnet: string | null, blob: string): readonly GradientSince[] {
  return gradientsIn(trace).since.get(keyOf(subnet, blob)) ?? [];
}

/** Whether no more gradients come: the pass is whole, or does not stand still to go on. */
export const isOver = (trace: Trace): boolean => trace.upcoming === null || isComplete(trace, lengthOf(trace));

/** Whether all gradients are there at a position: a blob that has none gets none. */
export function isComplete(trace: Trace, position: number): boolean {
  return position >= gradientsIn(trace).complete;
}
