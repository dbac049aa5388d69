// Lists of blob versions. Of very many the first few stand there, and how many more there are.

import { element, version, type Child } from "./dom";
import { count } from "./numbers";

const MANY = 200;
const FEW = 20;

/** All of them, or of very many the first few. */
export const few = <One>(all: readonly One[]): readonly One[] => (all.length > MANY ? all.slice(0, FEW) : all);

/** How many of them those are not. */
export const left = (all: readonly unknown[]): number => all.length - few(all).length;

/** "x@0, w@0"; `before` stands before each name, and `leftOut` more are not among them. */
export function versions(names: readonly string[], before = "", leftOut = 0): Child[] {
  const more = left(names) + leftOut;
  const rest = more > 0 ? [element("span", { class: "gv-note" }, `, and ${count(more)} more`)] : [];
  return [...few(names).flatMap((name, index) => [index === 0 ? before : `, ${before}`, ...version(name)]), ...rest];
}
