// A list of which only the rows in and around its window are in the page: however long it is, it costs the same. Rows can
// be of any height. One that was in the page is as high as it was then; of the others the height is estimated.

import { behind } from "../../model/recording/lookup";
import { element } from "./dom";

/** So many pixels above and below the window there are rows too: scrolling is ahead of what is drawn. */
const AROUND = 200;
/** When fewer are left, rows are drawn: more than a turn of a wheel scrolls by. */
const AHEAD = 160;
/** As long as nobody sees the list. */
const UNSEEN = { width: 320, height: 600 };

interface Source<Row> {
  /** What tells a row from the others; it stays when the list changes around it. */
  key(index: number): string;
  /** Builds a row, anew each time that it comes back into the page. */
  build(index: number): Row;
  /** About how high a row will be, in a list so wide. */
  estimate(index: number, width: number): number;
}

/** About how high a row is that has so many characters, in a list so wide; pixels of one line, of each more, of a character, and of all beside the text. */
export function textHeight(characters: number, width: number, { first, more, character, beside }: Record<"first" | "more" | "character" | "beside", number>): number {
  const columns = Math.max(12, (width - beside) / character);
  return first + more * (Math.ceil(characters / columns) - 1);
}

/** Fills `box`, which scrolls. */
export function createWindowed<Row extends { element: HTMLElement }>(box: HTMLElement, source: Source<Row>) {
  const sheet = element("div", { class: "gv-sheet" });
  const measured = new Map<string, number>();
  const rows = new Map<string, Row>();
  let { width, height } = UNSEEN;
  let scrolled = 0;
  let pinned = "";
  /** The row that was scrolled to, until a person scrolls: a list of another size shows it too. */
  let revealed = "";
  let drawn = { from: 0, to: 0 };
  /** Where each row begins, and behind the last one the end. */
  let tops = new Float64Array(1);
  /** The index of each row by its key. */
  let places = new Map<string, number>();

  const count = (): number => tops.length - 1;
  const top = (index: number): number => tops[index] ?? 0;
  const placeOf = (key: string): number => places.get(key) ?? -1;
  const rowAt = (pixel: number): number => Math.max(0, Math.min(count(), behind(tops, pixel)) - 1);

  function place(): void {
    for (let index = 0; index < count(); index++) {
      tops[index + 1] = top(index) + (measured.get(source.key(index)) ?? source.estimate(index, width));
    }
    sheet.style.height = `${top(count())}px`;
  }

  /** The rows around a place of the list, and nothing else. */
  function put(around: number): void {
    const [from, to] = [rowAt(around - AROUND), Math.min(count(), rowAt(around + height + AROUND) + 1)];
    drawn = { from, to };
    const wanted = Array.from({ length: to - from }, (_, index) => from + index);
    const always = placeOf(pinned);
    if (always >= 0 && always < from) wanted.unshift(always);
    if (always >= to) wanted.push(always);
    const keys = new Set(wanted.map((index) => source.key(index)));
    for (const [key, row] of rows) {
      if (keys.has(key)) continue;
      row.element.remove();
      rows.delete(key);
    }
    let next = sheet.firstElementChild;
    let end = 0;
    for (const index of wanted) {
      const row = rowOf(index);
      if (row === next) next = next.nextElementSibling;
      else sheet.insertBefore(row, next);
      row.style.marginTop = index > end ? `${top(index) - top(end)}px` : "";
      end = index + 1;
    }
  }

  function rowOf(index: number): HTMLElement {
    const key = source.key(index);
    const row = rows.get(key) ?? source.build(index);
    rows.set(key, row);
    return row.element;
  }

  /** Takes the heights from the page; true when the estimates were wrong. */
  function measureRows(): boolean {
    let isNew = false;
    for (const [key, row] of rows) {
      const rowHeight = row.element.getBoundingClientRect().height;
      if (rowHeight === 0 || rowHeight === measured.get(key)) continue;
      measured.set(key, rowHeight);
      isNew = true;
    }
    if (isNew) place();
    return isNew;
  }

  /** Draws what is in the window. The row at its upper edge stays there, whatever is found out about those above it. */
  function draw(): void {
    const edge = rowAt(scrolled);
    const above = scrolled - top(edge);
    put(scrolled);
    if (measureRows()) scrollTo(top(edge) + above);
  }

  function scrollTo(pixel: number): void {
    const to = Math.max(0, Math.min(pixel, top(count()) - height));
    if (Math.abs(to - scrolled) < 1) return;
    scrolled = to;
    box.scrollTop = to;
  }

  /** Scrolls a row to the middle, if it is out of sight; one that is higher than the window to its first line. */
  function reveal(key: string): void {
    const index = placeOf(key);
    if (index < 0) return;
    revealed = key;
    if (top(index) >= scrolled && top(index + 1) <= scrolled + height) return;
    const middle = (): number => Math.min(top(index), (top(index) + top(index + 1) - height) / 2);
    put(middle());
    measureRows();
    scrollTo(middle());
  }

  box.append(sheet);
  box.addEventListener("scroll", () => {
    if (Math.abs(box.scrollTop - scrolled) > 1) revealed = "";
    scrolled = box.scrollTop;
    const [first, last] = [rowAt(scrolled - AHEAD), rowAt(scrolled + height + AHEAD)];
    if (first < drawn.from || last >= drawn.to) draw();
  });
  const resizes = new ResizeObserver(() => {
    if (box.clientWidth === 0) return;
    if (box.clientWidth !== width) measured.clear();
    ({ clientWidth: width, clientHeight: height, scrollTop: scrolled } = box);
    place();
    draw();
    reveal(revealed);
  });
  resizes.observe(box);

  return {
    /** Those that are in the page, by their keys. */
    rows: rows as ReadonlyMap<string, Row>,
    /** Shows so many rows of the source, all of which can be others than before. */
    fill(length: number) {
      revealed = "";
      tops = new Float64Array(length + 1);
      places = new Map(Array.from({ length }, (_, index) => [source.key(index), index]));
      place();
      draw();
    },
    /** Measures the rows again, which may have become higher or lower. */
    measure: draw,
    /** The index of a row; -1: there is none. */
    placeOf,
    reveal,
    /** Has a row in the page wherever the window is, so that it keeps the focus. */
    keep(key: string) {
      pinned = key;
    },
    /** Brings a row into sight, to stay in the page. */
    lead(key: string): Row | undefined {
      pinned = key;
      reveal(key);
      draw();
      return rows.get(key);
    },
    dispose: () => resizes.disconnect(),
  };
}
