// Where labels can stand so that nothing lies over anything: each takes the first of its places that is free.

import { addTo } from "../../../model/recording/lists";
import type { Box, Point } from "../drawing/parts";

const MARGIN = 2;
/** Points of an edge lie no further apart than this. */
const STEP = 5;
/** What is taken is looked for in strips of this height. */
const STRIP = 40;

/** For each label the number of the place that it takes; null: all are taken. */
export function place(labels: readonly Box[][], boxes: readonly Box[], lines: readonly Point[][]): (number | null)[] {
  const taken = new Strips();
  for (const box of boxes) taken.add(box);
  for (const [x, y] of lines.flat()) taken.add({ x, y, width: 0, height: 0 });
  return labels.map((places) => {
    const found = places.findIndex((one) => !taken.isTaken(one));
    const chosen = places[found];
    if (!chosen) return null;
    taken.add(chosen);
    return found;
  });
}

/** Boxes by their height in the drawing. */
class Strips {
  private readonly strips = new Map<number, Box[]>();

  add(box: Box): void {
    for (const strip of this.of(box)) addTo(this.strips, strip, box);
  }

  isTaken(box: Box): boolean {
    return this.of(box).some((strip) => this.strips.get(strip)?.some((other) => overlaps(box, other)) ?? false);
  }

  private of({ y, height }: Box): number[] {
    const first = Math.floor(y / STRIP);
    return Array.from({ length: Math.floor((y + height) / STRIP) - first + 1 }, (_, index) => first + index);
  }
}

/** Whether two boxes lie over each other, or so close that they would be read as one. */
export function overlaps(a: Box, b: Box): boolean {
  return a.x < b.x + b.width + MARGIN && b.x < a.x + a.width + MARGIN && a.y < b.y + b.height && b.y < a.y + a.height;
}

/** How many numbers each command of a path takes. */
const SIZES: Record<string, number> = { M: 2, L: 2, H: 1, V: 1, Q: 4, C: 6 };

/** Points along the path of an edge, which has straight lines and curves of Bézier's. */
export function pointsOf(path: string): Point[] {
  const points: Point[] = [];
  let from: Point = [0, 0];
  for (const [, command = "", rest = ""] of path.matchAll(/([MLHVQC])([^MLHVQC]*)/g)) {
    const numbers = (rest.match(/-?[\d.]+/g) ?? []).map(Number);
    const size = SIZES[command] ?? 2;
    for (let index = 0; index + size <= numbers.length; index += size) {
      const through = controls(command, numbers.slice(index, index + size), from);
      points.push(...(command === "M" ? through : curve([from, ...through])));
      from = through[through.length - 1] ?? from;
    }
  }
  return points;
}

function controls(command: string, numbers: number[], [x, y]: Point): Point[] {
  const [first = 0] = numbers;
  if (command === "H") return [[first, y]];
  if (command === "V") return [[x, first]];
  return Array.from({ length: numbers.length / 2 }, (_, index) => [numbers[2 * index] ?? 0, numbers[2 * index + 1] ?? 0]);
}

/** Points of the curve with these control points, behind the first of them. */
function curve(through: Point[]): Point[] {
  const length = through.reduce((sum, point, index) => sum + distance(through[index - 1] ?? point, point), 0);
  const count = Math.min(400, Math.max(1, Math.ceil(length / STEP)));
  return Array.from({ length: count }, (_, index) => pointAt(through, (index + 1) / count));
}

const distance = (a: Point, b: Point): number => Math.hypot(a[0] - b[0], a[1] - b[1]);

/** De Casteljau's construction. */
function pointAt(through: Point[], share: number): Point {
  const [first, ...rest] = through;
  if (!first || rest.length === 0) return first ?? [0, 0];
  const between = (a: number, b: number): number => a + share * (b - a);
  return pointAt(rest.map(([x, y], index) => [between(through[index]?.[0] ?? x, x), between(through[index]?.[1] ?? y, y)]), share);
}
