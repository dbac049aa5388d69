// One blob in every iteration of a loop: a line of its norms, and a way to look at it in another iteration.

import { loopAround, roundText, type Round } from "../../model/recording/values";
import type { Scalar, Trace } from "../../model/schema";
import { element, svgElement, turnButton } from "../elements/dom";
import { count, quantity, NOT_COMPUTED } from "../elements/numbers";

/** A chart says nothing of two numbers. */
const WORTHWHILE = 3;
const HEIGHT = 44;
const WIDTH = 300;
/** Norms that differ by more than this factor are drawn by their order of magnitude. */
const WIDE = 50;

/** `choose` gets the round that is to be looked at. */
export function roundChoice(trace: Trace, rounds: readonly Round[], shown: Round, choose: (round: Round) => void): HTMLElement {
  const at = rounds.indexOf(shown);
  const turn = (name: string, way: "before" | "behind"): HTMLButtonElement => {
    const other = rounds[at + (way === "before" ? -1 : 1)];
    return turnButton(name, way, other ? () => choose(other) : null);
  };
  const loop = loopAround(trace, shown.frame);
  const text = element("span", { class: "gv-round-text" }, roundText(trace, loop));
  const partly = loop?.iterations !== null && loop?.iterations !== undefined && rounds.length < loop.iterations;
  const note = partly ? [element("span", { class: "gv-note" }, trace.part ? `${count(rounds.length)} of them near here` : `there in ${count(rounds.length)}`)] : [];
  const turns = element("span", { class: "gv-turns" }, turn("In the iteration before", "before"), turn("In the next iteration", "behind"));
  const bar = element("div", { class: "gv-rounds" }, text, turns, ...note);
  if (rounds.length < WORTHWHILE) return bar;
  const chart = columns(rounds.map(({ value }) => value.norm), at, "norm in each iteration");
  chart.addEventListener("click", (event) => {
    const { left, width } = chart.getBoundingClientRect();
    const chosen = rounds[Math.min(rounds.length - 1, Math.floor(((event.clientX - left) / width) * rounds.length))];
    if (chosen) choose(chosen);
  });
  return element("div", { class: "gv-over-rounds" }, bar, chart);
}

/** A column for each number, as high as it is large or, where they differ widely, as its order of magnitude is. */
export function columns(numbers: readonly (Scalar | null)[], marked: number, what: string): HTMLElement {
  const sizes = numbers.map((one) => (typeof one === "number" && Number.isFinite(one) ? Math.abs(one) : null));
  const positive = sizes.filter((one): one is number => one !== null && one > 0);
  const [least, most] = positive.reduce(([low, high], one) => [Math.min(low, one), Math.max(high, one)], [Infinity, 0]);
  const isWide = positive.length > 0 && most / least > WIDE;
  const height = (size: number): number => {
    if (size === 0 || positive.length === 0) return 0;
    if (!isWide) return HEIGHT * (size / most);
    // The quotient of two sizes may be infinite, the difference of their logarithms is not.
    return HEIGHT * (0.06 + (0.94 * (Math.log(size) - Math.log(least))) / (Math.log(most) - Math.log(least)));
  };
  const pitch = WIDTH / Math.max(1, numbers.length);
  const bar = (index: number): string => `M${((index + 0.5) * pitch).toFixed(2)} ${HEIGHT}V${(HEIGHT - height(sizes[index] ?? 0)).toFixed(1)}`;
  const picture = svgElement("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" });
  picture.append(path(numbers.map((_, index) => bar(index)).join(""), "gv-columns", Math.max(0.5, pitch * 0.7)));
  if (marked >= 0) {
    picture.append(path(`M${((marked + 0.5) * pitch).toFixed(2)} ${HEIGHT}V0`, "gv-here", Math.max(1.5, pitch * 0.7)));
    picture.append(path(bar(marked), "gv-marked", Math.max(1.5, pitch * 0.7)));
  }
  const lowest = sizes.some((one) => one === 0) ? 0 : least;
  const range = lowest === Infinity ? NOT_COMPUTED : `${quantity(lowest)} to ${quantity(most)}${isWide ? ", drawn by order of magnitude" : ""}`;
  const note = element("div", { class: "gv-note" }, `${what}: ${range}`);
  return element("div", { class: "gv-chart", role: "img", "aria-label": `${what}: ${range}` }, picture, note);
}

function path(d: string, className: string, width: number): SVGElement {
  return svgElement("path", { d, class: className, "stroke-width": width.toFixed(2) });
}
