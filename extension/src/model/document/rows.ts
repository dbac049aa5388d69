// Where loops repeat themselves the document has rows in place of whole parts: what they stand for.

import type { TraceEvent, Value } from "../schema";
import { refuse } from "../schema/json";
import type { Again, Arrays } from "../schema/trace.gen";

/** Characters that the narrations of all rows may have together. A row is short, and what it repeats need not be. */
export const MOST_TOLD = 200_000_000;

/** Throws where a row is like no event before it, or where the narrations become too long. */
export function lengthened(rows: (TraceEvent | Again)[]): TraceEvent[] {
  const words = new Map<number, string[]>();
  const events: TraceEvent[] = [];
  let told = 0;
  rows.forEach((row, index) => {
    if (!("like" in row)) return events.push(row);
    const path = `events[${index}]`;
    const like = events[row.like] ?? refuse(path, "is like no event before it");
    const known = words.get(row.like) ?? like.narration.split(" ");
    words.set(row.like, known);
    const { group, frame, seconds, before, behind } = row;
    const kept = before + behind;
    if (kept > known.length) refuse(path, `keeps more words than the ${known.length} of the event that it is like`);
    if (kept === known.length) return events.push({ ...like, group, frame, seconds });
    const narration = [...known.slice(0, before), row.words, ...known.slice(known.length - behind)].join(" ");
    told += narration.length;
    if (told > MOST_TOLD) refuse(path, `brings the narrations of repeated events to more than ${MOST_TOLD} characters`);
    return events.push({ ...like, group, frame, seconds, narration });
  });
  return events;
}

/** Throws where a row contradicts itself. */
export function valuesOf({ kinds, rows }: Arrays): Value[] {
  return rows.map(({ kind, preview, numbers, counts, stack, histogram }, index) => {
    const path = `arrays.rows[${index}]`;
    const [shape, dtype, device] = kinds[kind] ?? refuse(`${path}[0]`, `is no kind, of which there are ${kinds.length}`);
    const one = preview[0]?.[0];
    if (numbers.length === 0 && typeof one !== "number") refuse(path, "has neither statistics nor a number");
    if (numbers.length > 0 && (numbers.length !== 5 || counts.length < 3 || counts.length > 4)) refuse(path, "has to have 5 statistics and 3 or 4 counts");
    const [min = null, max = null, mean = null, mean_abs = null, norm = null] = numbers.length > 0 ? numbers : numbersOfOne(one as number);
    const [nan = 0, inf = 0, zero = 0, subnormal = null] = numbers.length > 0 ? counts : countsOfOne(one as number, dtype);
    const size = shape.reduce((product, extent) => product * extent, 1);
    const columns = size === 0 || stack !== null ? 0 : (shape[shape.length - 1] ?? 1);
    const rows = columns === 0 ? 0 : size / columns;
    return { shape, dtype, device, size, min, max, mean, mean_abs, norm, nan, inf, zero, preview, rows, columns, seconds: null, stack, subnormal, histogram };
  });
}

const numbersOfOne = (one: number): number[] => [one, one, one, Math.abs(one), Math.abs(one)];

/** The smallest number that a dtype has at its full precision. */
const SMALLEST: Record<string, number> = { float16: 2 ** -14, float32: 2 ** -126, float64: 2 ** -1022 };

const countsOfOne = (one: number, dtype: string): number[] => [0, 0, Number(one === 0), Number(one !== 0 && Math.abs(one) < (SMALLEST[dtype] ?? 0))];
