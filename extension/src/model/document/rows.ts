// Where loops repeat themselves the document has rows of JSON in place of objects: these read them.
//
// An event that is told like an earlier one is a row [like, group, frame, seconds, before, behind, words]: of the
// other's narration, cut at spaces, it has the first `before` words, then `words`, then the last `behind`.
// Arrays of one shape, dtype and device name that once; the row of each is [kind, preview, numbers,
// counts, stack, histogram].

import type { Scalar, TraceEvent, Value } from "../schema";
import { list, refuse, text, whole, type Reader } from "../schema/json";
import { histogram, preview } from "../schema/values";

/** Characters that the narrations of all rows may have together. A row is short, and what it repeats need not be. */
export const MOST_TOLD = 200_000_000;

export function readEvents(whole: Reader<TraceEvent>): Reader<TraceEvent[]> {
  return (found, path) => {
    if (!Array.isArray(found)) refuse(path, "is no list");
    const events: TraceEvent[] = [];
    const words = new Map<TraceEvent, string[]>();
    let told = 0;
    found.forEach((entry: unknown, index) => {
      const event = Array.isArray(entry) ? again(entry, events, words, `${path}[${index}]`) : whole(entry, `${path}[${index}]`);
      events.push(event);
      if (!Array.isArray(entry) || event.narration === events[entry[0] as number]?.narration) return;
      told += event.narration.length;
      if (told > MOST_TOLD) refuse(`${path}[${index}]`, `brings the narrations of repeated events to more than ${MOST_TOLD} characters`);
    });
    return events;
  };
}

const isCount = (found: unknown): found is number => typeof found === "number" && Number.isInteger(found) && found >= 0;

function again(row: unknown[], events: TraceEvent[], known: Map<TraceEvent, string[]>, path: string): TraceEvent {
  const [number, group, frame, seconds, before, behind, middle] = row;
  const like = isCount(number) ? events[number] : undefined;
  if (like === undefined) return refuse(path, "is like no event before it");
  if (!isCount(group) || !isCount(before) || !isCount(behind) || typeof middle !== "string") return refuse(path, "is no row of an event");
  if ((frame !== null && !isCount(frame)) || (seconds !== null && typeof seconds !== "number")) return refuse(path, "is no row of an event");
  let words = known.get(like);
  if (!words) known.set(like, (words = like.narration.split(" ")));
  if (before + behind > words.length) return refuse(path, `keeps more words than the ${words.length} of the event that it is like`);
  const isSame = before + behind === words.length;
  const narration = isSame ? like.narration : [...words.slice(0, before), middle, ...words.slice(words.length - behind)].join(" ");
  return { ...like, group, frame, seconds, narration };
}

type Kind = Pick<Value, "shape" | "dtype" | "device" | "size" | "rows" | "columns">;

export const arrays: Reader<Value[]> = (found, path) => {
  const entry = found as { kinds?: unknown; rows?: unknown } | null;
  if (typeof entry !== "object" || entry === null) return refuse(path, "is no object");
  const kinds = list(kind)(entry.kinds, `${path}.kinds`);
  return list((row, at) => measured(row, kinds, at))(entry.rows, `${path}.rows`);
};

const kind: Reader<Kind> = (found, path) => {
  if (!Array.isArray(found)) return refuse(path, "is no list of shape, dtype and device");
  const shape = list(whole(0))(found[0], `${path}[0]`);
  const size = shape.reduce((product, extent) => product * extent, 1);
  const columns = size === 0 ? 0 : (shape[shape.length - 1] ?? 1);
  const rows = size === 0 ? 0 : size / columns;
  return { shape, dtype: text(found[1], `${path}[1]`), device: text(found[2], `${path}[2]`), size, rows, columns };
};

function measured(found: unknown, kinds: Kind[], path: string): Value {
  if (!Array.isArray(found)) return refuse(path, "is no row of an array");
  const [number, shown, numbers = [], counts = [], stack = null, bins = []] = found as unknown[];
  const described = isCount(number) ? kinds[number] : undefined;
  if (!described) return refuse(`${path}[0]`, `is no kind, of which there are ${kinds.length}`);
  const seen = preview(shown, `${path}[1]`);
  const value: Value = { ...described, preview: seen, ...statistics(seen, described.dtype, numbers, counts, path) };
  const counted = histogram(bins, `${path}[5]`);
  if (counted.length > 0) value.histogram = counted;
  if (stack === null) return value;
  return { ...value, rows: 0, columns: 0, stack: whole(0)(stack, `${path}[4]`) };
}

type Statistics = Pick<Value, "min" | "max" | "mean" | "mean_abs" | "norm" | "nan" | "inf" | "zero" | "subnormal">;

/** The smallest number that a dtype has at its full precision. */
const SMALLEST: Record<string, number> = { float16: 2 ** -14, float32: 2 ** -126, float64: 2 ** -1022 };

function statistics(seen: Scalar[][], dtype: string, numbers: unknown, counts: unknown, path: string): Statistics {
  if (!Array.isArray(numbers) || !Array.isArray(counts)) return refuse(path, "has no statistics and counts");
  if (numbers.length === 0) {
    const one = seen[0]?.[0];
    if (typeof one !== "number") return refuse(path, "has neither statistics nor a number");
    const subnormal = Number(one !== 0 && Math.abs(one) < (SMALLEST[dtype] ?? 0));
    return { min: one, max: one, mean: one, mean_abs: Math.abs(one), norm: Math.abs(one), nan: 0, inf: 0, zero: Number(one === 0), subnormal };
  }
  if (numbers.length !== 5 || !numbers.every(isScalarOrNone)) return refuse(`${path}[2]`, "is no list of 5 statistics");
  if ((counts.length !== 3 && counts.length !== 4) || !counts.every(isCount)) return refuse(`${path}[3]`, "is no list of 3 or 4 counts");
  const [min, max, mean, mean_abs, norm] = numbers as [Scalar, Scalar, Scalar, Scalar, Scalar];
  const [nan, inf, zero, subnormal] = counts as [number, number, number, number?];
  return { min, max, mean, mean_abs, norm, nan, inf, zero, ...(subnormal === undefined ? {} : { subnormal }) };
}

function isScalarOrNone(found: unknown): boolean {
  return found === null || typeof found === "number" || found === "nan" || found === "inf" || found === "-inf";
}
