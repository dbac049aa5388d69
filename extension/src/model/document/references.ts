// Whether the parts of a trace document hold together, beside what each says of itself: see gradviz/debugger/document/check.py.

import { allLines, subnetOf } from "../recording/lines";
import type { Graph, Line, Trace, TraceEvent } from "../schema";
import { refuse } from "../schema/json";

/** Groups of the drawing that one can lie in. */
const MOST_AROUND = 200;

/** Throws at the first place where parts contradict each other. */
export function checkReferences(trace: Trace): void {
  const ids = new Set<string>();
  for (const line of allLines(trace)) {
    if (ids.has(line.id)) refuse(`line ${line.id}`, "is there twice");
    ids.add(line.id);
    checkHistory(line);
  }
  checkForward(trace);
  checkFrames(trace);
  trace.merges.forEach(({ at }, index) => {
    if (trace.events[at - 1]?.kind !== "Deduplicated") refuse(`merges[${index}].at`, `is ${at}, and there is no Deduplicated event`);
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

/** A number of a forward line is one of its net. */
function checkForward(trace: Trace): void {
  const counts = new Map<string | null, number>(trace.subnets.map((net) => [net.id, net.forward.length]));
  counts.set(null, trace.forward.length);
  const check = (found: number | null, net: string | null, path: () => string): void => {
    const count = counts.get(net) ?? 0;
    if (found !== null && found >= count) refuse(path(), `is ${found}, outside 0 to ${count - 1}`);
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
  if ((graph.svg === null) !== (graph.dot === null) || (graph.svg === null) === (graph.omitted === null)) refuse("graph", "has to be either svg and dot, or the reason why it was omitted");
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
  const known = new Set<number>();
  const inside: Pick<TraceEvent, "subnet" | "frame">[] = [{ subnet: null, frame: null }];
  let depth = 0;
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
      if (known.has(group)) refuse(`events[${index}].group`, `is ${group}, a group that had ended before`);
      known.add(group);
      open[depth] = group;
    }
    if (kind === "EnteredSubnet") depth++;
  });
}
