// An answer as its blocks: paragraphs, lists and tables, in which names lead to what they name.
// The inspector's tabs Why, Versions, Check and State, and the paths of the Ledger tab: what Python answers.

import { isGenerated, isSettled } from "../../lesson/lesson";
import type { Answers, Block, Problem, Question, Reply } from "../../model/answers/asking";
import { currentEvent, forwardLine, pathOf } from "../../model/recording/cursor";
import { forwardOf, lengthOf, linesById, numberOf, subnetOf } from "../../model/recording/lookup";
import { gradientsOf, makerOf, valueAt, type Place } from "../../model/recording/values";
import type { Line, Scalar, Trace } from "../../model/schema";
import { button, element, linkButton, marked, quiet, type Child } from "../elements/dom";
import { textField } from "../elements/controls";
import type { Navigation } from "../elements/navigation";
import { quantity } from "../elements/numbers";

/** A table of more columns than these is read better row by row, if it has not more rows than these. */
const WIDE = 5;
const FEW = 6;

/** What a view of answers is about. */
export interface Asking {
  trace: Trace;
  answers: Answers;
  navigation: Navigation;
  /** Whether nothing may be shown that comes later than the position: a lesson is on. */
  isVeiled(): boolean;
}

/** A place for an answer: it says that it is on its way until it is there. Late, for another position, it is nowhere. */
export function answerCard(asking: Asking, question: Question, show = shownReply): HTMLElement {
  const card = element("div", { class: "gv-card gv-answer" });
  const reply = asking.answers.reply(question);
  if (reply) {
    card.append(...show(asking, reply));
    return card;
  }
  let isAnswered = false;

  function ask(): void {
    card.setAttribute("aria-busy", "true");
    const words = quiet("asking the kernel…");
    words.classList.add("gv-asking");
    fill(card, card, words);
    const isWanted = (): boolean => card.isConnected && !isAnswered;
    // The card is on the page once the tab is drawn.
    queueMicrotask(() => asking.answers.ask(question, isWanted, tell));
  }

  function tell(reply: Reply): void {
    const isSilent = "late" in reply;
    isAnswered = !isSilent;
    card.removeAttribute("aria-busy");
    fill(card, card, ...show(asking, reply), ...(isSilent ? [linkButton(ask, "Ask again")] : []));
  }

  ask();
  return card;
}

/** What had the focus in a box may be gone: then the card in it has the focus. */
function fill(box: HTMLElement, card: HTMLElement, ...content: HTMLElement[]): void {
  const hadFocus = box.contains(document.activeElement);
  box.replaceChildren(...content);
  if (!hadFocus) return;
  card.tabIndex = -1;
  card.focus({ preventScroll: true });
}

/** A button that asks, and the answer in its place; at once where it is there already. */
function onDemand(asking: Asking, label: string, question: Question, show = shownReply): HTMLElement {
  if (asking.answers.reply(question) || asking.answers.isAsked(question)) return answerCard(asking, question, show);
  const ask = (): void => {
    const card = answerCard(asking, question, show);
    fill(place, card, card);
  };
  const place = element("div", { class: "gv-card", "aria-live": "polite" }, linkButton(ask, label));
  return place;
}

/** The reply as elements: an answer's blocks, or why there is none. */
export function shownReply(asking: Asking, reply: Reply): HTMLElement[] {
  if ("blocks" in reply) return reply.blocks.map((block) => shownBlock(asking, block));
  const linked = (text: string): Child[] => withLinks(asking, text);
  const ways = reply.waysOut.length > 0 ? [element("ul", {}, ...reply.waysOut.map((way) => element("li", {}, ...linked(way))))] : [];
  return [element("p", { class: "gv-misread" }, ...linked(reply.problem)), ...ways];
}

function shownBlock(asking: Asking, block: Block): HTMLElement {
  const linked = (text: string): Child[] => withLinks(asking, text);
  if (block.kind === "paragraph") return element("p", {}, ...(block.isTitle ? [element("b", {}, ...linked(block.text))] : linked(block.text)));
  if (block.kind === "bullets") return element("ul", {}, ...block.items.map((item) => element("li", {}, ...linked(item))));
  const isCards = block.head.length > WIDE && block.rows.length <= FEW;
  return isCards ? cards(block, linked) : table(block, linked);
}

type Grid = Block & { kind: "grid" };

function table({ title, head, rows, foot }: Grid, linked: (text: string) => Child[]): HTMLElement {
  const ledger = element("table", { class: "gv-ledger" }, element("caption", {}, ...linked(title)));
  if (rows.length > 0) {
    // A row may be named by its first cell, and then the column needs no name.
    const titles = head.map((name) => (name === "" ? element("td") : element("th", { scope: "col" }, name)));
    const body = rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, ...linked(cell)))));
    ledger.append(element("thead", {}, element("tr", {}, ...titles)), element("tbody", {}, ...body));
  }
  if (foot) ledger.append(element("tfoot", {}, element("tr", {}, element("td", { class: "gv-note", colspan: head.length }, ...linked(foot)))));
  return element("div", { class: "gv-wide", role: "region", tabindex: 0, "aria-label": title }, ledger);
}

/** Each row of a wide table as its first cell with the others below, each behind the name of its column. */
function cards({ title, head, rows, foot }: Grid, linked: (text: string) => Child[]): HTMLElement {
  const items = rows.map((row) => {
    const [first = "", ...rest] = row;
    const pairs = rest.flatMap((cell, index) => [element("dt", {}, head[index + 1] ?? ""), element("dd", {}, ...linked(cell))]);
    return element("div", { class: "gv-row" }, element("code", {}, ...linked(first)), element("dl", {}, ...pairs));
  });
  const last = foot ? [element("p", { class: "gv-note" }, ...linked(foot))] : [];
  return element("div", { class: "gv-card" }, element("b", {}, ...linked(title)), ...items, ...last);
}

const NAMED = /event (\d+)|#(\d+)|[^\s,;:()"]+@\d+/g;

/** A text in which events, operators and blob versions of the outermost net lead there; what is between backticks is code. */
function withLinks(asking: Asking, text: string): Child[] {
  return marked(text, (part) => linkedNames(asking, part));
}

function linkedNames({ trace, navigation }: Asking, text: string): Child[] {
  const children: Child[] = [];
  let done = 0;
  for (const match of text.matchAll(NAMED)) {
    const [name, event, operator] = match;
    const link = linkTo(trace, navigation, name, event, operator, text[match.index - 1] === ":");
    if (link === null) continue;
    const end = match.index + name.length;
    const [sign = ""] = /^[.,;:)]*/.exec(text.slice(end)) ?? [];
    children.push(text.slice(done, match.index), sign === "" ? link : element("span", { class: "gv-closed" }, link, sign));
    done = end + sign.length;
  }
  return [...children, text.slice(done)].filter((child) => child !== "");
}

function linkTo(trace: Trace, navigation: Navigation, name: string, event: string | undefined, operator: string | undefined, isInside: boolean): HTMLElement | null {
  const link = (title: string, act: () => void): HTMLElement => button(act, { class: "gv-name", title }, name);
  if (event !== undefined) return Number(event) <= lengthOf(trace) ? link("Go to this event", () => navigation.go(Number(event))) : null;
  if (isInside) return null;
  const line = operator !== undefined ? linesById(trace).get(`f${operator}`) : makerOf(trace, name, null);
  return line ? link("Show it in the program and the graph", () => navigation.select(line.id)) : null;
}

/** A blob of a net, or of a run of it, as it is asked for from anywhere. */
export function asked(trace: Trace, { blob, subnet, frame }: Place): string {
  if (subnet === null) return trace.subnets.length > 0 ? `:${blob}` : blob;
  return `${pathOf(trace, { subnet, frame })}:${blob}`;
}

/** `fault` stands above these: what an answer says of it is not said twice. */
export function whyCards(asking: Asking, place: Place, position: number, fault: Problem | null): HTMLElement[] {
  if (asking.isVeiled() && !isGenerated(asking.trace, position)) return noteForLater("the pass is made");
  const question = (name: Question["question"]): Question => ({ question: name, arguments: [asked(asking.trace, place)], position });
  const value = valueAt(asking.trace, place, asking.isVeiled() ? position : lengthOf(asking.trace));
  const said = [fault?.problem, fault?.waysOut.join()];
  const isNew = (block: Block): boolean => !said.includes(block.kind === "paragraph" ? block.text : block.kind === "bullets" ? block.items.join() : "");
  const why = answerCard(asking, question("why_none"), (_, reply) => shownReply(asking, "blocks" in reply ? { ...reply, blocks: reply.blocks.filter(isNew) } : reply));
  if (!value || value.norm === null) return [why];
  const isFaulty = value.nan > 0 || value.inf > 0 || (value.size > 0 && value.zero === value.size);
  const born = question("provenance");
  return [why, isFaulty ? answerCard(asking, born) : onDemand(asking, "Look for a fault in its value", born)];
}

export function versionsCards(asking: Asking, place: Place, position: number): HTMLElement[] {
  if (asking.isVeiled() && !isGenerated(asking.trace, position)) return noteForLater("the pass is made");
  return [answerCard(asking, { question: "versions", arguments: [asked(asking.trace, place)], position })];
}

/** Whether it may be told of the gradients of these blobs: in a lesson, when they are computed. */
function isOpen(asking: Asking, blobs: readonly string[], where: Omit<Place, "blob">, position: number): boolean {
  return !asking.isVeiled() || isSettled(asking.trace, blobs, where, position);
}

/** What a lesson tells only then. */
function noteForLater(until: string): HTMLElement[] {
  return [quiet(`A lesson tells this when ${until}: before, it is yours to predict.`)];
}

/** The checks of the operator that the event is about, or the line that is selected, and of the blob in focus. */
export function checkCards(asking: Asking, place: Place | null, selected: string | null, position: number): HTMLElement[] {
  const { trace } = asking;
  const line = operatorAt(trace, selected, position);
  const cards: HTMLElement[] = [];
  const subnet = line ? subnetOf(line.id) : null;
  const event = currentEvent(trace, position);
  const frame = event?.subnet === subnet ? (event?.frame ?? null) : null;
  if ((line && !isOpen(asking, line.inputs, { subnet, frame }, position)) || (place && !isOpen(asking, [place.blob], place, position))) return noteForLater("these gradients are computed");
  if (line) {
    const name = `#${numberOf(line)}`;
    cards.push(checkCard(asking, "", asked(trace, { blob: name, subnet, frame }), position));
  }
  if (place) cards.push(checkCard(asking, `Check the whole gradient of ${place.blob}`, asked(trace, place), position));
  return cards.length > 0 ? cards : [quiet("This event is about no operator and no blob.")];
}

/** What came of a check, which without a label is made at once, else by a button; where nothing can be checked, why. */
function checkCard(asking: Asking, label: string, word: string, position: number): HTMLElement {
  const check: Question = { question: "check", arguments: [word], position };
  const ask = (): HTMLElement => (label === "" ? answerCard(asking, check, shownCheck) : onDemand(asking, label, check, shownCheck));
  if (asking.answers.reply(check)) return ask();
  const isPossible = (reply: Reply): boolean => "blocks" in reply && reply.data?.["problem"] === "";
  return answerCard(asking, { ...check, question: "checkable" }, (_, reply) => (isPossible(reply) ? [ask()] : shownReply(asking, reply)));
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

/** A field for another position, and what changed between that one and here. */
export function changesSince(asking: Asking, position: number): HTMLElement[] {
  const max = asking.isVeiled() ? position : lengthOf(asking.trace);
  const field = textField({ type: "number", min: 0, max, required: true, value: Math.max(0, position - 1), "aria-label": "Compare with event", class: "gv-since" });
  const show = element("button", { type: "submit", class: "gv-link" }, "Compare");
  const place = element("div", { class: "gv-card", "aria-live": "polite" });
  const form = element("form", { class: "gv-compare" }, "what changed since event", field, show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    place.replaceChildren(answerCard(asking, { question: "diff", arguments: [field.valueAsNumber], position }));
  });
  return [form, place];
}

/**
 * The ledger of a blob whose one gradient has come by a position, of which no sum tells; nothing of other blobs. In a
 * part of a recording that of any blob: its sum may be elsewhere.
 */
export function singleCard(asking: Asking, place: Place, position: number): HTMLElement[] {
  const arrived = gradientsOf(asking.trace, place.subnet, place.blob).filter(({ at }) => at <= position);
  if (!asking.trace.part && (arrived.length !== 1 || !isOpen(asking, [place.blob], place, position))) return [];
  return [answerCard(asking, { question: "ledger", arguments: [asked(asking.trace, place)], position })];
}

export function pathsCard(asking: Asking, place: Place, position: number): HTMLElement[] {
  if (!isOpen(asking, [place.blob], place, position)) return [];
  return [onDemand(asking, `Paths of the gradient of ${place.blob}`, { question: "paths", arguments: [asked(asking.trace, place)], position })];
}
