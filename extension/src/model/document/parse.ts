// Reads a trace document from text. Where loops repeat themselves it has rows in place of whole parts. Whether the parts hold
// together, beside what each says of itself: see gradviz/debugger/document/check.py.

import { lengthBy, PLACE } from "../recording/cursor";
import { allLines, endOf, eventAt, lengthOf, subnetOf } from "../recording/lookup";
import type { Graph, Line, Trace, TraceEvent, Value } from "../schema";
import { messageOf, readTrace, refuse, text, whole, type Parts, type Reader } from "../schema/reader";
import type { Again, Arrays } from "../schema/trace.gen";

/** Characters that all narrations may have together. A row is short, and what it repeats need not be. */
export const MOST_NARRATED = 200_000_000;

/** Throws where a row is like no event before it, or where the narrations become too long. */
function lengthened(rows: (TraceEvent | Again)[], templates: string[]): TraceEvent[] {
  const length = lengthBy(templates);
  const events: TraceEvent[] = [];
  let characters = 0;
  rows.forEach((row, index) => {
    const event = "like" in row ? repeated(events, row) : row;
    characters += length(event.narration) + event.narration.arguments.length;
    if (characters > MOST_NARRATED) refuse(`events[${index}]`, `brings the narrations to more than ${MOST_NARRATED} characters`);
    events.push(event);
  });
  return events;
}

/** The event behind these that a row stands for. */
function repeated(events: TraceEvent[], row: Again): TraceEvent {
  const path = `events[${events.length}]`;
  const like = events[row.like] ?? refuse(path, "is like no event before it");
  const { template, arguments: earlier } = like.narration;
  const end = row.at + row.arguments.length;
  if (end > earlier.length) refuse(path, `has arguments up to ${end}, and the event that it is like has ${earlier.length}`);
  const filling = end === row.at ? earlier : [...earlier.slice(0, row.at), ...row.arguments, ...earlier.slice(end)];
  return { ...like, group: row.group, frame: row.frame, seconds: row.seconds, narration: { template, arguments: filling } };
}

/** Throws where a row contradicts itself. */
function valuesOf({ kinds, rows }: Arrays): Value[] {
  return rows.map(({ kind, preview, numbers, counts, stack, histogram }, index) => {
    const path = `arrays.rows[${index}]`;
    const [shape, dtype, device] = kinds[kind] ?? refuse(`${path}[0]`, `is no kind, of which there are ${kinds.length}`);
    const one = preview[0]?.[0];
    if (numbers.length === 0 && typeof one !== "number") refuse(path, "has neither statistics nor a number");
    if (numbers.length > 0 && (numbers.length !== 5 || counts.length < 3 || counts.length > 4)) refuse(path, "has to have 5 statistics and 3 or 4 counts");
    const [min = null, max = null, mean = null, mean_abs = null, norm = null] = numbers.length > 0 ? numbers : numbersOfOne(one as number);
    const [nan = 0, inf = 0, zero = 0, subnormal = null] = numbers.length > 0 ? counts : countsOfOne(one as number, dtype);
    const size = shape.reduce((product, extent) => product * extent, 1);
    const columns = size === 0 || stack !== null ? 0 : (shape.at(-1) ?? 1);
    const rows = columns === 0 ? 0 : size / columns;
    return { shape, dtype, device, size, min, max, mean, mean_abs, norm, nan, inf, zero, preview, rows, columns, seconds: null, stack, subnormal, histogram };
  });
}

const numbersOfOne = (one: number): number[] => [one, one, one, Math.abs(one), Math.abs(one)];

/** The smallest number that a dtype has at its full precision. */
const SMALLEST: Record<string, number> = { float16: 2 ** -14, float32: 2 ** -126, float64: 2 ** -1022 };

const countsOfOne = (one: number, dtype: string): number[] => [0, 0, Number(one === 0), Number(one !== 0 && Math.abs(one) < (SMALLEST[dtype] ?? 0))];

/** Groups of the drawing that one can lie in. */
const MOST_AROUND = 200;

/** Throws at the first place where parts contradict each other. */
function checkReferences(trace: Trace): void {
  if (endOf(trace) > lengthOf(trace)) refuse("part", `ends at event ${endOf(trace)}, and the recording at ${lengthOf(trace)}`);
  const ids = new Set<string>();
  for (const line of allLines(trace)) {
    if (ids.has(line.id)) refuse(`line ${line.id}`, "is there twice");
    ids.add(line.id);
    checkHistory(line);
  }
  checkNarrations(trace);
  checkForward(trace);
  checkFrames(trace);
  trace.merges.forEach(({ at }, index) => {
    if (eventAt(trace, at - 1)?.kind !== "Deduplicated") refuse(`merges[${index}].at`, `is ${at}, and there is no Deduplicated event`);
  });
  for (const { histogram, size, nan, inf } of [...Object.values(trace.values), ...trace.arrays]) {
    if (histogram.length > 0 && histogram.reduce((sum, one) => sum + one, 0) !== size - nan - inf) refuse("values", "have a histogram that does not count their elements");
  }
  if (trace.schedule && trace.schedule.ranks.length !== trace.forward.length) refuse("schedule.ranks", `has ${trace.schedule.ranks.length} ranks for ${trace.forward.length} forward lines`);
  checkGroups(trace);
  checkGraph(trace.graph);
}

/** A line has been as it is for some time, and read and wrote as many blobs all the time. */
function checkHistory(line: Line): void {
  const wrong = (problem: string): never => refuse(`line ${line.id}.history`, problem);
  if (line.history.length === 0) wrong("is empty: a line has had at least one form");
  line.history.forEach(({ at, inputs, outputs }, index) => {
    if (at < (line.history[index - 1]?.at ?? 0)) wrong("goes back in time");
    if (inputs.length !== line.inputs.length || outputs.length !== line.outputs.length) wrong("has more blobs, or fewer, than the line in the end");
  });
}

/** A narration fills all places of its template. */
function checkNarrations(trace: Trace): void {
  const places = trace.templates.map((template) => template.match(PLACE)?.length ?? 0);
  trace.events.forEach(({ narration }, index) => {
    const [given, wanted] = [narration.arguments.length, places[narration.template] ?? 0];
    if (given !== wanted) refuse(`events[${index}].narration`, `has ${given} arguments for ${wanted} places`);
  });
}

/** A number of a forward line is one of its net. */
function checkForward(trace: Trace): void {
  const counts = new Map<string | null, number>(trace.subnets.map((net) => [net.id, net.forward.length]));
  counts.set(null, trace.part?.forward ?? trace.forward.length);
  const check = (number: number | null, net: string | null, path: () => string): void => {
    const count = counts.get(net) ?? 0;
    if (number !== null && number >= count) refuse(path(), `is ${number}, outside 0 to ${count - 1}`);
  };
  trace.events.forEach((one, index) => check(one.forward, one.subnet, () => `events[${index}].forward`));
  trace.ledgers.forEach((one, index) => one.contributions.forEach(({ of }) => check(of, one.subnet, () => `ledgers[${index}].contributions`)));
  for (const net of [{ id: null, backward: trace.backward }, ...trace.subnets]) {
    net.backward.forEach((line) => check(line.of, net.id, () => `line ${line.id}.of`));
  }
}

/** Frames lie in those before them, as stacks do on others; what a frame has values of are blobs of its net. */
function checkFrames(trace: Trace): void {
  const nets = new Map(trace.subnets.map((net) => [net.id, net]));
  trace.frames.forEach(({ subnet, around, values }, index) => {
    if (around !== null && around >= index) refuse(`frames[${index}].around`, "is no frame that began before");
    if (values.length > (nets.get(subnet)?.blobs.length ?? 0)) refuse(`frames[${index}].values`, `has more values than ${subnet} has blobs`);
  });
  trace.stacks.forEach(({ below }, index) => {
    if (below !== null && below >= index) refuse(`stacks[${index}].below`, "is no stack before it");
  });
}

/** Either there is a drawing, or why not. Each group lies in one before it, if in any, and no line in two: they are trees, of a depth that is bounded. */
function checkGraph(graph: Graph): void {
  if ((graph.svg === null) === (graph.omitted === null)) refuse("graph", "has to be either svg, or the reason why it was omitted");
  const depths = new Map<string, number>();
  const grouped = new Set<string>();
  graph.groups.forEach(({ id, around, lines }, index) => {
    const path = `graph.groups[${index}]`;
    if (depths.has(id) || !/^(?:s\d+\.)?g\d+$/.test(id)) refuse(`${path}.id`, `is "${id}", no id or that of another group`);
    const depth = around === null ? 0 : depths.get(around);
    if (depth === undefined || (around !== null && subnetOf(around) !== subnetOf(id))) return refuse(`${path}.around`, `is "${around}", no group of its net before it`);
    if (depth >= MOST_AROUND) refuse(path, `lies in more than ${MOST_AROUND} others`);
    depths.set(id, depth + 1);
    for (const line of lines) {
      if (grouped.has(line) || subnetOf(line) !== subnetOf(id)) refuse(`${path}.lines`, `names "${line}", no line of its net or one in another group`);
      grouped.add(line);
    }
  });
}

/**
 * Groups are contiguous, but that those of nested nets may lie inside: `over` has to know where each ends. Events are in
 * the net that was entered last.
 */
function checkGroups(trace: Trace): void {
  const open: number[] = [];
  const begun = new Set<number>();
  const inside: Pick<TraceEvent, "subnet" | "frame">[] = [{ subnet: null, frame: null }];
  for (const one of trace.part?.entered ?? []) inside.push(one);
  let depth = inside.length - 1;
  trace.events.forEach((event, index) => {
    const { group, kind, subnet } = event;
    if (kind === "LeftSubnet") depth--;
    if (depth < 0) refuse(`events[${index}]`, "leaves a nested net that was not entered");
    if (kind === "EnteredSubnet" && subnet === null) refuse(`events[${index}].subnet`, "is null, and a nested net is entered");
    if (kind === "EnteredSubnet") inside[depth + 1] = event;
    const here = inside[kind === "EnteredSubnet" ? depth + 1 : depth];
    if (kind !== "Failed" && (subnet !== here?.subnet || event.frame !== here.frame)) refuse(`events[${index}]`, "is in another nested net, or run of it, than was entered");
    open.length = depth + 1;
    if (open[depth] !== group) {
      if (begun.has(group)) refuse(`events[${index}].group`, `is ${group}, a group that had ended before`);
      begun.add(group);
      open[depth] = group;
    }
    if (kind === "EnteredSubnet") depth++;
  });
}

const FORMAT: Trace["format"] = "gradviz-trace";
const VERSION: Trace["version"] = 6;

/**
 * Reads a trace document from JSON text that may come from anywhere.
 * Throws an Error whose message says what is wrong, where, and the way out.
 */
export function parseTrace(source: string): Trace {
  const document = parseJson(source);
  checkFormat(document);
  const written = readTrace(document, partsOf(document));
  const trace: Trace = { ...written, events: lengthened(written.events, written.templates), arrays: valuesOf(written.arrays) };
  checkReferences(trace);
  return trace;
}

function parseJson(source: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(source);
  } catch (error) {
    const reason = messageOf(error);
    if (source.trim() === "") throw new Error("this gradviz trace is empty: nothing was recorded, or the file was not written");
    if (!source.trimEnd().endsWith("}")) {
      throw new Error(`this gradviz trace is truncated: its JSON stops after ${source.length} characters (${reason}); save it again`);
    }
    throw new Error(`this is not a gradviz trace: it is no JSON (${reason})`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw new Error(`this is not a gradviz trace: its JSON is no object with "format": "${FORMAT}"`);
  }
  return parsed as Record<string, unknown>;
}

function checkFormat(document: Record<string, unknown>): void {
  if (document["format"] !== FORMAT) {
    throw new Error(`this is not a gradviz trace: its "format" is ${JSON.stringify(document["format"]) ?? "missing"}, not "${FORMAT}"`);
  }
  const version = whole(0)(document["version"], "version");
  if (version === VERSION) {
    if (document["packed"] === undefined) return;
    throw new Error(`the recording of ${JSON.stringify(document["name"])} is too large to be shown without Python: gradviz.load("…") in a notebook or a script reads this file`);
  }
  const wayOut = version > VERSION ? "update gradviz" : "record it again with this gradviz";
  throw new Error(`this is a gradviz trace of version ${version}; this gradviz reads version ${VERSION}: ${wayOut}`);
}

/** What the rules of the schema are about, by their names, before all of them are checked. */
function partsOf(document: unknown): Parts {
  const inside = (value: unknown, name: string): unknown => (value as Record<string, unknown> | null | undefined)?.[name];
  const listAt = (value: unknown, name: string): unknown[] => {
    const entries = inside(value, name);
    return Array.isArray(entries) ? (entries as unknown[]) : [];
  };
  const count = (value: unknown, name: string): number => {
    const entries = inside(value, name) ?? [];
    return Array.isArray(entries) ? entries.length : Infinity;
  };
  const subnets = listAt(document, "subnets");
  const [length, forward] = ["length", "forward"].map((name) => inside(inside(document, "part"), name));
  const lines = new Set<unknown>();
  for (const net of [document, ...subnets]) {
    for (const part of ["forward", "backward"]) for (const line of listAt(net, part)) lines.add(inside(line, "id"));
  }
  return {
    counts: {
      count: Infinity,
      positions: (typeof length === "number" ? length : count(document, "events")) + 1,
      ...Object.fromEntries(["frames", "ledgers", "stacks", "templates"].map((name) => [name, count(document, name)])),
      arrays: count(inside(document, "arrays"), "rows"),
      shapes: count(inside(document, "graph"), "shapes"),
      operators: typeof forward === "number" ? forward : count(document, "forward"),
    },
    names: {
      lines: among(lines, "and there is no such line"),
      subnets: among(new Set(subnets.map((net) => inside(net, "id"))), "and there is no such nested net"),
      versions: (value, path) => (VERSIONED.test(text(value, path)) ? (value as string) : refuse(path, `is ${JSON.stringify(value)}, which is no blob version`)),
    },
  };
}

/** How a blob version is written. */
const VERSIONED = /^[^]+@\d{1,9}$/;

const among =
  (names: Set<unknown>, otherwise: string): Reader<string> =>
  (value, path) =>
    names.has(text(value, path)) ? (value as string) : refuse(path, `is ${JSON.stringify(value)}, ${otherwise}`);
