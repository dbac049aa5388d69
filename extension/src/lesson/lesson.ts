// A lesson: what was predicted, what came, how often it was right, and what is hidden: nothing may tell what comes after
// the position, since that is to be predicted.
//
// What a class is asked before each step. Question, answer and alternatives are made from the recording by rule.

import { shortName } from "../formula/steps";
import { visitedBy } from "../model/recording/cursor";
import { beginOf, endOf, eventAt, lengthOf, linesById, linesNamed, memoized, netOf, original, subnetOf, subnetsById } from "../model/recording/lookup";
import { blobOf, gradientsOf, isComplete, isComputed, numbersOf, valueOf, type Place } from "../model/recording/values";
import type { Contribution, Ledger, Line, Trace, TraceEvent } from "../model/schema";

/** A question about the event that comes next; code stands between backticks. */
export type Question = { ask: string; line: Line | null } & ({ kind: "choice"; choices: string[]; right: number } | { kind: "numbers"; right: number[] });

/** More alternatives would be a search, not a prediction. */
const CHOICES = 4;
/** Share by which an entered number may differ: what is calculated in the head is right. */
const TOLERANCE = 0.02;

/** What a lesson goes through: the forward values and then the gradients, number by number, or all that brings the pass about. */
export const COURSES = ["Numbers first", "Whole story"] as const;
export type Course = (typeof COURSES)[number];

/** The steps of a course by numbers, where there is something to ask. */
const NUMBERS: readonly string[] = ["Ran", "GradWritten"];

/** Whether there are numbers to predict. */
export const hasNumbers = memoized((trace) => trace.part !== null || trace.events.some(({ kind }) => kind === "Ran"));

/** The question before the step that leads to a position; null: there is nothing to predict. */
export function questionBefore(trace: Trace, position: number): Question | null {
  const event = eventAt(trace, position - 1);
  return event ? (ASK[event.kind]?.(trace, event, position) ?? null) : null;
}

const ASK: Partial<Record<TraceEvent["kind"], (trace: Trace, event: TraceEvent, position: number) => Question | null>> = {
  Seeded: (trace, event) => askSeed(trace, lineOf(trace, event), event.blobs[1] ?? ""),
  Visited: askVisit,
  RuleApplied: askRule,
  InputChecked: askVersions,
  GeneratorAdded: askComplete,
  Failed: askVersions,
  Accumulated: askTerms,
  GradWritten: askWritten,
  Deduplicated: askRows,
  EnteredSubnet: askNet,
  Ran: askResult,
};

/** A choice between different texts in their order; null where there is only one. */
function choice(ask: string, right: string, others: readonly string[], line: Line | null, sort?: (a: string, b: string) => number): Question | null {
  const among = [...new Set([right, ...others])].slice(0, CHOICES);
  if (among.length < 2) return null;
  const choices = among.sort(sort);
  return { kind: "choice", ask, line, choices, right: choices.indexOf(right) };
}

function lineOf(trace: Trace, event: TraceEvent): Line | undefined {
  return linesById(trace).get(event.lines.at(-1) ?? "");
}

function askSeed(trace: Trace, line: Line | undefined, version: string): Question | null {
  // A gradient that somebody gave cannot be known before.
  if (!line || (line.args["value"] ?? 1) !== 1) return null;
  const y = shortName(trace, version);
  return { kind: "numbers", ask: `How much does \`${y}\` change when \`${y}\` changes by a little, per change? ∂${y}/∂${y} is the number that the pass starts with.`, line: null, right: [1] };
}

/** The operators that lie nearest. */
function askVisit(trace: Trace, event: TraceEvent): Question | null {
  const lines = netOf(trace, event.subnet)?.forward ?? [];
  const right = event.forward ?? -1;
  const label = (line: Line | undefined, index: number): string => `${line?.type ?? ""} #${index}`;
  const near = lines.map((_, index) => index).filter((index) => index !== right).sort((a, b) => Math.abs(a - right) - Math.abs(b - right) || a - b);
  const byNumber = (a: string, b: string): number => Number(a.split("#")[1]) - Number(b.split("#")[1]);
  const others = near.slice(0, CHOICES - 1).map((index) => label(lines[index], index));
  return choice("Which operator comes next on the way back?", label(lines[right], right), others, null, byNumber);
}

const PASSES = "there is no operator: the gradient passes through unchanged";
const ENDS = "there is no operator: no gradient goes on from here";
/** Names of blobs before sentences. */
const wordsLast = (a: string, b: string): number => Number(b.startsWith("`")) - Number(a.startsWith("`")) || (a < b ? -1 : 1);

function askRule(trace: Trace, event: TraceEvent): Question | null {
  const forward = visitedBy(trace, event);
  if (!forward) return null;
  const lines = linesNamed(trace, event.lines);
  const operators = lines.filter((line) => line.kind === "operator");
  const [only] = operators;
  if (only && operators.length === 1) return askSaved(only, forward);
  const goesOn = ((event.detail["g_input"] ?? []) as unknown[]).some((gradient) => gradient !== null);
  const right = only ? operators.map(({ type }) => type).join(" and ") : goesOn ? PASSES : ENDS;
  const types = trace.backward.filter(({ role }) => role === "gradient").map(({ type }) => type);
  return choice(`Which operator does the rule of ${forward.type} #${event.forward} make?`, right, [`${forward.type}Gradient`, PASSES, ...(only ? [] : [ENDS]), ...types], null, wordsLast);
}

/** What of the forward pass a gradient operator reads: inputs, outputs, or nothing. */
function askSaved(line: Line, forward: Line): Question | null {
  const listed = (blobs: string[]): string => (blobs.length > 0 ? blobs.map((blob) => `\`${blob}\``).join(", ") : "an operator that reads nothing else");
  const [inputs, outputs] = [[...new Set(forward.inputs)], forward.outputs];
  const read = new Set(line.inputs.map(original));
  const right = [...inputs, ...outputs].filter((blob) => read.has(blob));
  const others = [inputs, outputs, []].map(listed);
  const ask = `The rule of ${forward.type} is asked. What does the operator that it makes read, besides the gradient that arrives?`;
  return choice(ask, listed(right), [...others, PASSES], null, wordsLast);
}

const UNCHANGED = "no: it reads what the forward pass saw";
const KEPT = "yes, and it reads what was kept of that";
const OVERWRITTEN = "yes: it would read another version";

/** What is checked of the versions that a gradient reads, and what a pass can end with. */
function askVersions(trace: Trace, event: TraceEvent): Question | null {
  const forward = visitedBy(trace, event);
  const hasFailed = event.kind === "Failed";
  if (!forward || (hasFailed ? event.detail["error"] !== "version_overwritten" : lineOf(trace, event)?.kind !== "operator")) return null;
  const ask = `Has anything that the gradient of ${forward.type} #${event.forward} reads been overwritten since?`;
  const read = (event.detail["inputs"] ?? []) as { name: string; source: string; blob: string }[];
  const isKept = read.some(({ name, source, blob }) => ["input", "output"].includes(source) && name !== blob);
  const others = isKept || event.subnet !== null ? [UNCHANGED, KEPT, OVERWRITTEN] : [UNCHANGED, OVERWRITTEN];
  return choice(ask, hasFailed ? OVERWRITTEN : isKept ? KEPT : UNCHANGED, others, null, (a, b) => others.indexOf(a) - others.indexOf(b));
}

const WHOLE = "it is complete";
const PART = "it is one of several, which are added";

function askComplete(trace: Trace, event: TraceEvent): Question | null {
  const blob = event.blobs.at(-1) ?? "";
  // A sum of one is the same gradient, made dense.
  const all = gradientsOf(trace, event.subnet, blob).filter(({ isSum }) => !isSum);
  if (all.length === 0) return null;
  return choice(`A gradient of \`${blob}\` arrives. Is that all of it?`, all.length > 1 ? PART : WHOLE, [WHOLE, PART], null, (a) => (a === WHOLE ? -1 : 1));
}

function askTerms(trace: Trace, event: TraceEvent): Question | null {
  const terms = event.ledger === null ? undefined : trace.ledgers[event.ledger]?.contributions.length;
  if (terms === undefined) return null;
  const others = [terms + 1, terms - 1, terms + 2].filter((count) => count > 0).map(String);
  return choice(`How many gradients of \`${event.blobs[1] ?? event.blobs[0] ?? ""}\` are added here?`, String(terms), others, null, (a, b) => Number(a) - Number(b));
}

const WRITTEN: Record<string, string> = { new: "it becomes this gradient", added: "this gradient is added to it", dropped: "it is let go, to save memory" };

function askWritten(_: Trace, event: TraceEvent): Question | null {
  const right = WRITTEN[String(event.detail["how"])];
  return right === undefined ? null : choice(`What happens to the \`grad\` of \`${String(event.detail["blob"])}\`?`, right, Object.values(WRITTEN), null);
}

function askRows(trace: Trace, _: TraceEvent, position: number): Question | null {
  const merge = trace.merges.find(({ at }) => at === position);
  if (!merge || merge.rows_after === null || merge.rows_before === null) return null;
  return { kind: "numbers", ask: `The sparse gradient of \`${merge.blob}\` has ${merge.rows_before} rows. How many are left when rows of equal index are one?`, line: null, right: [merge.rows_after] };
}

function askNet(trace: Trace, event: TraceEvent): Question | null {
  const right = subnetsById(trace).get(event.subnet ?? "");
  if (!right) return null;
  const siblings = trace.subnets.filter((net) => net.owner === right.owner || net.path.length === right.path.length);
  return choice("Which nested net is entered?", nameOf(right), siblings.map(nameOf), null);
}

const nameOf = ({ argument, path }: { argument: string; path: string[] }): string => `${argument} of #${(path.at(-1) ?? "").split(".")[0]}`;

/** Its numbers where they are few, else its shape. */
function askResult(trace: Trace, event: TraceEvent): Question | null {
  const line = lineOf(trace, event);
  const blob = line?.outputs[0];
  const value = blob === undefined ? undefined : valueOf(trace, event.frame, blob);
  if (!line || blob === undefined || !value || value.stack !== null) return null;
  const numbers = numbersOf(value);
  const of = blobOf(trace, event.subnet, blob, visitedBy(trace, event)?.inputs);
  if (line.role === "seed" && numbers?.length === 1 && of !== undefined) return askSeed(trace, line, of);
  const what = `\`${blob}\`${of === undefined ? "" : `, the gradient of \`${shortName(trace, of)}\``}`;
  if (numbers) return { kind: "numbers", ask: `\`${line.type}\` runs. What is ${what}?`, line: line.role === "seed" ? null : line, right: numbers };
  const shapes = [...line.inputs, ...line.outputs].map((one) => valueOf(trace, event.frame, one)?.shape).filter((shape) => shape !== undefined);
  const text = (shape: number[]): string => shape.join(" × ") || "a single number";
  const others = [[...value.shape].reverse(), ...shapes, []].map(text);
  return choice(`\`${line.type}\` runs. Which shape does ${what} have?`, text(value.shape), others, subnetOf(line.id) === null ? line : null);
}

/** Whether entered numbers are the right ones. */
export function isRight(right: readonly number[], entered: readonly number[]): boolean {
  return right.length === entered.length && right.every((one, index) => Math.abs(one - (entered[index] ?? NaN)) <= TOLERANCE * Math.abs(one) + 1e-12);
}

/** The numbers in a text, "[1, −2]", "0.5; 1/3"; null where something else is in it. */
export function numbersIn(text: string): number[] | null {
  const parts = text.replace(/[[\]]/g, " ").replace(/−/g, "-").split(/[\s,;]+/).filter((part) => part !== "");
  const numbers = parts.map((part) => {
    const [top = "", bottom = "1", ...more] = part.split("/");
    return more.length > 0 || top === "" || bottom === "" ? NaN : Number(top) / Number(bottom);
  });
  return numbers.length > 0 && numbers.every(Number.isFinite) ? numbers : null;
}

export interface Outcome {
  isRight: boolean;
  question: Question;
}

/** What a person predicts: the number of a choice, or numbers as they are written. */
type Prediction = number | string;

export class Lesson {
  isOn = false;
  course: Course = "Numbers first";
  /** Of the step that led here; null: nothing was predicted. */
  outcome: Outcome | null = null;
  private pending: { position: number; prediction: Prediction } | null = null;
  /** By the position that revealed it, the first prediction: one who goes back and tries again has seen the answer. */
  private readonly first = new Map<number, boolean>();

  get score(): { right: number; all: number } {
    return { right: [...this.first.values()].filter(Boolean).length, all: this.first.size };
  }

  /** Begins or ends; what was predicted and not revealed is dropped, as the view offers the question anew. */
  toggle(): void {
    this.isOn = !this.isOn;
    this.pending = null;
  }

  /** Takes another course, which asks something else here. */
  take(course: Course): void {
    this.course = course;
    this.pending = null;
  }

  /** Where a step leads to from a position: in a lesson by numbers to the next of them. */
  next(trace: Trace, position: number): number {
    if (!this.isByNumbers(trace)) return position + 1;
    for (let at = position; at < endOf(trace); at++) if (isNumber(trace, at)) return at + 1;
    return Math.min(endOf(trace) + 1, lengthOf(trace));
  }

  previous(trace: Trace, position: number): number {
    if (!this.isByNumbers(trace)) return position - 1;
    for (let at = position - 2; at >= beginOf(trace); at--) if (isNumber(trace, at)) return at + 1;
    return Math.max(beginOf(trace) - 1, 0);
  }

  private isByNumbers(trace: Trace): boolean {
    return this.isOn && this.course === "Numbers first" && hasNumbers(trace);
  }

  predictedAt(position: number): Prediction | null {
    return this.pending?.position === position ? this.pending.prediction : null;
  }

  predict(position: number, prediction: Prediction): void {
    this.pending = { position, prediction };
  }

  /** The view is at another position now: a step forward reveals what was predicted. */
  moved(trace: Trace, position: number): void {
    const pending = this.pending;
    this.pending = null;
    this.outcome = null;
    const question = pending && position === this.next(trace, pending.position) ? questionBefore(trace, position) : null;
    if (!pending || !question) return;
    const isRight = isPredicted(question, pending.prediction);
    if (isRight === null) return;
    this.outcome = { isRight, question };
    if (!this.first.has(position)) this.first.set(position, isRight);
  }

  /** Another recording is shown. */
  clear(): void {
    this.pending = null;
    this.outcome = null;
    this.first.clear();
  }
}

/** Whether an event, by its number, is a step of a course by numbers. */
const isNumber = (trace: Trace, number: number): boolean => NUMBERS.includes(eventAt(trace, number)?.kind ?? "") && questionBefore(trace, number + 1) !== null;

/** Null: what was entered are no numbers. */
function isPredicted(question: Question, prediction: Prediction): boolean | null {
  if (question.kind === "choice") return prediction === question.right;
  const entered = numbersIn(String(prediction));
  return entered && isRight(question.right, entered);
}

/** The last event that may be shown: in a lesson that of the position, unless it is the end; else any. */
export function lastUnveiled(trace: Trace, position: number, isVeiled: boolean): number {
  return isVeiled && position < lengthOf(trace) ? position : Infinity;
}

/** Whether the pass is generated: who wrote, reads and needs a blob, and why it has no gradient, is no secret any more. */
export function isGenerated(trace: Trace, position: number): boolean {
  return isComplete(trace, position) || position === lengthOf(trace);
}

/** Whether all gradients that these blobs ever get are computed. */
export function isSettled(trace: Trace, blobs: readonly string[], { subnet, frame }: Omit<Place, "blob">, position: number): boolean {
  const gradients = blobs.flatMap((blob) => gradientsOf(trace, subnet, blob));
  if (gradients.length === 0) return isGenerated(trace, position);
  return gradients.every(({ at, values }) => at <= position && isComputed(trace, { blob: values, subnet, frame }, position));
}

/** Whether the sum that a ledger is about is computed. */
export function isAdded(trace: Trace, { total, subnet, frame }: Ledger, position: number): boolean {
  return isComputed(trace, { blob: total, subnet, frame }, position);
}

/** A ledger with the numbers that are computed; shares and cosines are of the sum. */
export function ledgerAt(trace: Trace, ledger: Ledger, position: number): Ledger {
  const ofSum = isAdded(trace, ledger, position) ? {} : { share: null, cosine: null };
  const contributions = ledger.contributions.map((one): Contribution => {
    const isThere = isComputed(trace, placeOf(trace, ledger, one), position);
    return isThere ? { ...one, ...ofSum } : { ...one, norm: null, share: null, cosine: null };
  });
  return isAdded(trace, ledger, position) ? { ...ledger, contributions } : { ...ledger, contributions, norm: null, cancellation: null };
}

/** Where a contribution is computed: in the net of the ledger, or in the iteration that it is of. */
function placeOf(trace: Trace, { subnet, frame }: Ledger, { gradient, frame: iteration }: Contribution): Place {
  const run = iteration === null ? undefined : trace.frames[iteration];
  return run ? { blob: gradient, subnet: run.subnet, frame: iteration } : { blob: gradient, subnet, frame };
}
