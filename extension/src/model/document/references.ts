// Whether what a trace document refers to is there.

import { allLines, subnetOf } from "../recording/lines";
import type { Line, Trace, TraceEvent } from "../schema";
import { refuse } from "../schema/json";

/** Groups of the drawing that one can lie in. */
const MOST_AROUND = 200;

/** Throws at the first reference that leads nowhere. */
export function checkReferences(trace: Trace): void {
  const ids = checkIds(trace);
  checkLines(trace);
  checkSubnets(trace, ids);
  checkForward(trace);
  checkSchedule(trace);
  trace.merges.forEach(({ at }, index) => {
    if (trace.events[at - 1]?.kind !== "Deduplicated") refuse(`merges[${index}].at`, `is ${at}, and there is no Deduplicated event`);
  });
  const seen = new Set<string[]>();
  trace.events.forEach((one, index) => {
    if (one.ledger !== null && one.ledger >= trace.ledgers.length) {
      refuse(`events[${index}].ledger`, `is ${one.ledger}, and there are ${trace.ledgers.length} ledgers`);
    }
    if (seen.has(one.lines)) return;
    seen.add(one.lines);
    const unknown = one.lines.find((id) => !ids.has(id));
    if (unknown !== undefined) refuse(`events[${index}].lines`, `names "${unknown}", and there is no such line`);
  });
  const stranger = trace.obstacle?.lines.find((id) => !ids.has(id));
  if (stranger !== undefined) refuse("obstacle.lines", `names "${stranger}", and there is no such line`);
  checkGroups(trace);
  checkNodeGroups(trace, ids);
}

function checkIds(trace: Trace): Set<string> {
  const ids = new Set<string>();
  const add = (lines: Line[], path: string): void =>
    lines.forEach((one, index) => {
      if (ids.has(one.id)) refuse(`${path}[${index}].id`, `is "${one.id}", the id of another line`);
      ids.add(one.id);
    });
  add(trace.forward, "forward");
  add(trace.backward, "backward");
  trace.subnets.forEach((net, index) => {
    add(net.forward, `subnets[${index}].forward`);
    add(net.backward, `subnets[${index}].backward`);
  });
  return ids;
}

/** How a blob version is written. */
const VERSION = /^[^]+@\d{1,9}$/;

/** Lines name blob versions, and read and write as many of them all the time. */
function checkLines(trace: Trace): void {
  for (const line of allLines(trace)) {
    for (const { inputs, outputs } of [line, ...line.history]) {
      if (inputs.length !== line.inputs.length || outputs.length !== line.outputs.length) refuse(`line ${line.id}.history`, "has more blobs, or fewer, than the line in the end");
      const wrong = [...inputs, ...outputs].find((blob) => !VERSION.test(blob));
      if (wrong !== undefined) refuse(`line ${line.id}`, `names "${wrong}", which is no blob version`);
    }
  }
}

function checkSubnets(trace: Trace, lines: Set<string>): void {
  const nets = new Map(trace.subnets.map((net) => [net.id, net]));
  trace.subnets.forEach((net, index) => {
    for (const owner of [net.owner, net.backward_owner]) {
      if (owner !== null && !lines.has(owner)) refuse(`subnets[${index}]`, `belongs to "${owner}", and there is no such line`);
    }
  });
  for (const line of allLines(trace)) {
    for (const id of Object.values(line.subnets)) {
      if (!nets.has(id)) refuse(`line ${line.id}`, `runs "${id}", and there is no such nested net`);
    }
  }
  trace.frames.forEach((frame, index) => {
    const net = nets.get(frame.subnet);
    if (!net) return refuse(`frames[${index}][0]`, `is "${frame.subnet}", and there is no such nested net`);
    if (frame.around !== null && frame.around >= index) refuse(`frames[${index}][1]`, "is no frame that began before");
    if (frame.values.length > net.blobs.length) refuse(`frames[${index}][6]`, `has more values than ${net.id} has blobs`);
    const unknown = frame.values.find((value) => value !== null && value >= trace.arrays.length);
    if (unknown !== undefined) refuse(`frames[${index}][6]`, `names array ${unknown}, and there are ${trace.arrays.length}`);
  });
  trace.stacks.forEach((stack, index) => {
    if (stack.below !== null && stack.below >= index) refuse(`stacks[${index}].below`, "is no stack before it");
    if (stack.frame !== null && stack.frame >= trace.frames.length) refuse(`stacks[${index}].frame`, "is no frame");
  });
  for (const value of [...Object.values(trace.values), ...trace.arrays]) {
    if (value.histogram && value.histogram.reduce((sum, one) => sum + one, 0) !== value.size - value.nan - value.inf) refuse("values", "have a histogram that does not count their elements");
    if (value.stack !== undefined && value.stack >= trace.stacks.length) refuse("values", `name stack ${value.stack}, and there are ${trace.stacks.length}`);
  }
}

function checkSchedule({ schedule, forward }: Trace): void {
  if (!schedule) return;
  if (schedule.ranks.length !== forward.length) refuse("schedule.ranks", `has ${schedule.ranks.length} ranks for ${forward.length} forward lines`);
  schedule.waits.forEach((wait, index) => {
    if (wait.function >= forward.length) refuse(`schedule.waits[${index}][0]`, `is ${wait.function}, and there are ${forward.length} forward lines`);
  });
}

function checkForward(trace: Trace): void {
  const counts = new Map<string | null, number>(trace.subnets.map((net) => [net.id, net.forward.length]));
  counts.set(null, trace.forward.length);
  const check = (found: number | null, net: string | null, path: string): void => {
    const count = counts.get(net);
    if (count === undefined) return refuse(path, `is in "${net}", and there is no such nested net`);
    if (found !== null && found >= count) refuse(path, `is ${found}, outside 0 to ${count - 1}`);
  };
  trace.events.forEach((one, index) => check(one.forward, one.subnet, `events[${index}].forward`));
  trace.ledgers.forEach((one, index) => {
    one.contributions.forEach((part, number) => check(part.of, one.subnet, `ledgers[${index}].contributions[${number}].of`));
  });
  for (const net of [{ id: null, backward: trace.backward }, ...trace.subnets]) {
    net.backward.forEach((line) => check(line.of, net.id, `line ${line.id}.of`));
  }
}

/** Each lies in one before it, if in any, and no line in two: so they are trees, of a depth that is bounded. */
function checkNodeGroups({ graph }: Trace, ids: Set<string>): void {
  if ("omitted" in graph) return;
  const depths = new Map<string, number>();
  const held = new Set<string>();
  graph.groups.forEach(({ id, around, lines, shape }, index) => {
    const path = `graph.groups[${index}]`;
    if (depths.has(id) || !/^(?:s\d+\.)?g\d+$/.test(id)) refuse(`${path}.id`, `is "${id}", no id or that of another group`);
    const depth = around === null ? 0 : depths.get(around);
    if (depth === undefined || (around !== null && subnetOf(around) !== subnetOf(id))) refuse(`${path}.around`, `is "${around}", no group of its net before it`);
    if (depth >= MOST_AROUND) refuse(path, `lies in more than ${MOST_AROUND} others`);
    depths.set(id, depth + 1);
    for (const line of lines) {
      if (!ids.has(line) || held.has(line) || subnetOf(line) !== subnetOf(id)) refuse(`${path}.lines`, `names "${line}", no line of its net or one in another group`);
      held.add(line);
    }
    if (shape >= graph.shapes.length) refuse(`${path}.shape`, `is ${shape}, and there are ${graph.shapes.length} shapes`);
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
