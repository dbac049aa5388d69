// The inspector's tabs Why, Versions, Check and State, and the paths of the Ledger tab: what Python answers.

import { isMade, isSettled } from "../../lesson/lesson";
import type { Question, Reply } from "../../model/answers/asking";
import { currentEvent, forwardLine } from "../../model/recording/cursor";
import { forwardOf, linesById, numberOf, subnetOf } from "../../model/recording/lines";
import { pathOf } from "../../model/recording/places";
import { valueAt, type Place } from "../../model/recording/values";
import type { Line, Scalar, Trace } from "../../model/schema";
import { element, quiet } from "../elements/dom";
import { keepKeys } from "../elements/entry";
import { quantity } from "../elements/numbers";
import { answerCard, onDemand, shownBlock, shownReply, type Asking } from "./answer";

/** A blob of a net, or of a run of it, as it is asked for from anywhere. */
export function asked(trace: Trace, { blob, subnet, frame }: Place): string {
  if (subnet === null) return trace.subnets.length > 0 ? `:${blob}` : blob;
  return `${pathOf(trace, { subnet, frame })}:${blob}`;
}

export function whyCards(asking: Asking, place: Place, position: number): HTMLElement[] {
  if (asking.isVeiled() && !isMade(asking.trace, position)) return heldBack("the pass is made");
  const question = (name: Question["question"]): Question => ({ question: name, arguments: [asked(asking.trace, place)], position });
  const value = valueAt(asking.trace, place, asking.isVeiled() ? position : asking.trace.events.length);
  const why = answerCard(asking, question("why_none"));
  if (!value || value.norm === null) return [why];
  const isFaulty = value.nan > 0 || value.inf > 0 || (value.size > 0 && value.zero === value.size);
  const born = question("provenance");
  return [why, isFaulty ? answerCard(asking, born) : onDemand(asking, "Look for a fault in its value", born)];
}

export function versionsCards(asking: Asking, place: Place, position: number): HTMLElement[] {
  if (asking.isVeiled() && !isMade(asking.trace, position)) return heldBack("the pass is made");
  return [answerCard(asking, { question: "versions", arguments: [asked(asking.trace, place)], position })];
}

/** What a lesson tells only then. */
function heldBack(until: string): HTMLElement[] {
  return [quiet(`A lesson tells this when ${until}: before, it is yours to predict.`)];
}

/** The checks of the operator that the event is about, or the line that is selected, and of the blob in focus. */
export function checkCards(asking: Asking, place: Place | null, selected: string | null, position: number): HTMLElement[] {
  const { trace } = asking;
  const check = (word: string): Question => ({ question: "check", arguments: [word], position });
  const line = operatorAt(trace, selected, position);
  const cards: HTMLElement[] = [];
  const isOpen = (blobs: readonly string[], where: Omit<Place, "blob">): boolean => !asking.isVeiled() || isSettled(trace, blobs, where, position);
  const subnet = line ? subnetOf(line.id) : null;
  const event = currentEvent(trace, position);
  const frame = event?.subnet === subnet ? (event?.frame ?? null) : null;
  if ((line && !isOpen(line.inputs, { subnet, frame })) || (place && !isOpen([place.blob], place))) return heldBack("these gradients are computed");
  if (line) {
    const name = `#${numberOf(line)}`;
    cards.push(onDemand(asking, `Check the rule of ${line.type} ${name}`, check(asked(trace, { blob: name, subnet, frame })), shownCheck));
  }
  if (place) cards.push(onDemand(asking, `Check the whole gradient of ${place.blob}`, check(asked(trace, place)), shownCheck));
  return cards.length > 0 ? cards : [quiet("This event is about no operator and no blob.")];
}

/** The forward operator that the selected line, or the event, is about. */
function operatorAt(trace: Trace, selected: string | null, position: number): Line | undefined {
  const event = currentEvent(trace, position);
  const line = linesById(trace).get(selected ?? forwardLine(event) ?? event?.lines[0] ?? "");
  return line?.role === "forward" ? line : line && forwardOf(trace, line);
}

/** Verdict -> the shape of the light. */
const SHAPES: Record<string, string> = { agrees: "gv-dot", differs: "gv-cross", kink: "gv-diamond", "not checkable": "gv-ring" };

interface Checked {
  error: Scalar | null;
  method: string;
}

/** A light with its words, and the numbers behind it. */
function shownCheck(asking: Asking, reply: Reply): HTMLElement[] {
  const verdict = "blocks" in reply ? reply.data?.["verdict"] : undefined;
  if (!("blocks" in reply) || typeof verdict !== "string") return shownReply(asking, reply);
  const shape = SHAPES[verdict] ?? "gv-ring";
  const light = element("div", { class: `gv-light ${shape}` }, element("i", { "aria-hidden": "true" }), lightText(verdict, (reply.data?.["checks"] ?? []) as Checked[]));
  const numbers = element("details", {}, element("summary", {}, "The numbers"));
  numbers.append(...reply.blocks.filter(({ kind }) => kind === "grid").map((block) => shownBlock(asking, block)));
  const words = reply.blocks.filter(({ kind }) => kind !== "grid").map((block) => shownBlock(asking, block));
  return [light, ...words, ...(numbers.childElementCount > 1 ? [numbers] : [])];
}

function lightText(verdict: string, checks: Checked[]): string {
  const errors = checks.map(({ error }) => error).filter((error) => typeof error === "number");
  const worst = Math.max(0, ...errors);
  const what = checks.length > 0 && checks.every(({ method }) => method === "complex step") ? "complex steps" : "finite differences";
  if (verdict === "agrees") return worst === 0 ? `${what} agree exactly` : `${what} agree to ${quantity(worst)}`;
  if (verdict === "differs") return `${what} disagree: relative error ${quantity(worst)}`;
  return verdict === "kink" ? "on a kink, where no gradient is right or wrong" : "cannot be checked";
}

/** The state of the pass here, and what is otherwise than at a position that the person names. */
export function stateAnswer(asking: Asking, position: number): HTMLElement[] {
  return [answerCard(asking, { question: "state", arguments: [], position })];
}

/** A field for another position, and what changed between that one and here. */
export function changesSince(asking: Asking, position: number): HTMLElement[] {
  const max = asking.isVeiled() ? position : asking.trace.events.length;
  const field = element("input", { type: "number", min: 0, max, required: true, value: Math.max(0, position - 1), "aria-label": "Compare with event", class: "gv-since" });
  const show = element("button", { type: "submit", class: "gv-link" }, "Compare");
  const place = element("div", { class: "gv-card", "aria-live": "polite" });
  const form = element("form", { class: "gv-compare" }, "what changed since event", field, show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    place.replaceChildren(answerCard(asking, { question: "diff", arguments: [field.valueAsNumber], position }));
  });
  keepKeys(field);
  return [form, place];
}

export function pathsCard(asking: Asking, place: Place, position: number): HTMLElement[] {
  if (asking.isVeiled() && !isSettled(asking.trace, [place.blob], place, position)) return [];
  return [onDemand(asking, `Paths of the gradient of ${place.blob}`, { question: "paths", arguments: [asked(asking.trace, place)], position })];
}
