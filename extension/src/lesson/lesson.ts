// A lesson: what was predicted, what came, and how often it was right.

import type { Trace } from "../model/schema";
import { isRight, numbersIn, questionAt, type Question } from "./questions";

export interface Outcome {
  isRight: boolean;
  question: Question;
}

/** What a person predicts: the number of a choice, or numbers as they are written. */
export type Prediction = number | string;

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
