// A small heat map of the corner of an array: orange above zero, blue below, hatched where there is no number.

import type { Value } from "../../model/recording/trace";
import { element } from "./dom";
import { counted, quantity } from "./numbers";

const ROWS = 6;
const COLUMNS = 16;
/** Fewer columns than this would make the cells large for what they tell. */
const NARROWEST = 8;
const LARGEST_CELL = 26;

export function heatmap(name: string, value: Value): HTMLElement {
  const rows = value.preview.slice(0, ROWS).map((row) => row.slice(0, COLUMNS));
  const finite = rows.flat().filter((one): one is number => typeof one === "number" && Number.isFinite(one));
  const largest = finite.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  const columns = Math.max(NARROWEST, ...rows.map((row) => row.length));
  const map = element("div", { class: "gv-heat", role: "img", "aria-label": `heat map of ${name}, ${extent(value)}` });
  map.style.gridTemplateColumns = `repeat(${columns}, 1fr)`;
  map.style.maxWidth = `${columns * LARGEST_CELL}px`;
  rows.forEach((row, i) => {
    for (let j = 0; j < columns; j++) {
      const cell = row[j];
      map.append(cell === undefined ? element("i", { class: "gv-gap" }) : heatCell(cell, largest, `[${i}, ${j}]`));
    }
  });
  return map;
}

function heatCell(cell: Value["preview"][number][number], largest: number, where: string): HTMLElement {
  const finite = typeof cell === "number" && Number.isFinite(cell);
  const made = element("i", { class: finite ? (cell < 0 ? "gv-below" : "gv-above") : "gv-no-number", title: `${where} ${quantity(cell)}` });
  if (finite && largest > 0) made.style.setProperty("--gv-strength", `${Math.round(100 * (Math.abs(cell) / largest))}%`);
  return made;
}

/** "first 6 of 64 rows, 16 of 32 columns"; "all 3 rows" where it is whole. */
export function extent(value: Value): string {
  const shownRows = Math.min(value.preview.length, ROWS);
  const shownColumns = Math.min(value.preview[0]?.length ?? 0, COLUMNS);
  const part = (shown: number, all: number, noun: string): string => (shown < all ? `${shown} of ` : "") + counted(all, noun);
  const cut = shownRows < value.rows || shownColumns < value.columns;
  return `${cut ? "first " : ""}${part(shownRows, value.rows, "row")}, ${part(shownColumns, value.columns, "column")}`;
}
