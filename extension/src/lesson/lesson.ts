// A lesson: what was predicted, what came, how often it was right, and what is held back: nothing may tell what comes after
// the position, since that is to be predicted.

import { gradientsOf, isComplete } from "../model/recording/gradients";
import { isComputed, type Place } from "../model/recording/values";
import type { Contribution, Ledger, Trace } from "../model/schema";
import { isRight, numbersIn, questionAt, type Question } from "./questions";

export interface Outcome {
  isRight: boolean;
  question: Question;
}

/** What a person predicts: the number of a choice, or numbers as they are written. */
type Prediction = number | string;

export class Lesson {
  isOn = false;
  /** Of the step that led here; null: nothing was predicted. */
  outcome: Outcome | null = null;
  private pending: { position: number; prediction: Prediction } | null = null;
  /** By position, the first prediction: one who goes back and tries again has seen the answer. */
  private readonly first = new Map<number, boolean>();

  get score(): { right: number; all: number } {
    return { right: [...this.first.values()].filter(Boolean).length, all: this.first.size };
  }

  /** The prediction for the step from a position. */
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
    const question = pending && position === pending.position + 1 ? questionAt(trace, pending.position) : null;
    if (!pending || !question) return;
    const found = isPredicted(question, pending.prediction);
    if (found === null) return;
    this.outcome = { isRight: found, question };
    if (!this.first.has(pending.position)) this.first.set(pending.position, found);
  }

  /** Another recording is shown. */
  clear(): void {
    this.pending = null;
    this.outcome = null;
    this.first.clear();
  }
}

/** Null: what was entered are no numbers. */
function isPredicted(question: Question, prediction: Prediction): boolean | null {
  if (question.kind === "choice") return prediction === question.right;
  const entered = numbersIn(String(prediction));
  return entered && isRight(question.right, entered);
}

/** The last event that may be told of: in a lesson that of the position, unless it is the end; else any. */
export function lastTold(trace: Trace, position: number, isVeiled: boolean): number {
  return isVeiled && position < trace.events.length ? position : Infinity;
}

/** Whether the pass is made: who wrote, reads and needs a blob, and why it has no gradient, is no secret any more. */
export function isMade(trace: Trace, position: number): boolean {
  return isComplete(trace, position) || position === trace.events.length;
}

/** Whether all gradients that these blobs ever get are computed. */
export function isSettled(trace: Trace, blobs: readonly string[], { subnet, frame }: Omit<Place, "blob">, position: number): boolean {
  const gradients = blobs.flatMap((blob) => gradientsOf(trace, subnet, blob));
  if (gradients.length === 0) return isMade(trace, position);
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
