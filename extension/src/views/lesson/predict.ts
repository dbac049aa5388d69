// Predict, then reveal: a question before each step, and after it whether the prediction was right.

import { mathElement } from "../../formula/mathml";
import { lineFormula } from "../../formula/steps";
import type { Lesson, Outcome } from "../../lesson/lesson";
import { questionAt, type Question } from "../../lesson/questions";
import type { Trace } from "../../model/schema";
import { element, marked } from "../elements/dom";
import { textField } from "../elements/entry";
import type { Navigation, View } from "../elements/navigation";
import { quantity } from "../elements/numbers";
import { chainRows } from "./chain";

export interface PredictView extends View {
  /** Takes a key that is part of an answer: 1 to 4, or the beginning of a number; false where it means nothing. */
  answer(key: string): boolean;
  /** Whether a prediction waits to be revealed. */
  isAnswered(): boolean;
}

export function createPredict(trace: Trace, navigation: Navigation, lesson: Lesson): PredictView {
  const outcome = element("span", { class: "gv-predicted", role: "status" });
  const hint = element("span", { class: "gv-note" });
  const asked = element("div", { class: "gv-question", "aria-live": "polite" });
  const answers = element("div", { class: "gv-answers", role: "group", "aria-label": "Your prediction" });
  const score = element("span", { class: "gv-score" });
  const predict = element("div", { class: "gv-predict", tabindex: 0, role: "group", "aria-label": "Predict" }, element("p", {}, outcome, hint), asked, answers, score);
  const panel = element("section", { class: "gv-teach", "aria-label": "Teaching", hidden: true }, predict);
  let at = 0;
  let question: Question | null = null;
  let field: HTMLInputElement | null = null;
  let buttons: HTMLButtonElement[] = [];

  function choose(index: number): void {
    lesson.predict(at, index);
    buttons.forEach((one, number) => one.setAttribute("aria-pressed", String(number === index)));
  }

  function offer(): void {
    field = null;
    buttons = [];
    if (question?.kind === "choice") {
      buttons = question.choices.map((text, index) => choiceButton(text, index, choose));
      answers.replaceChildren(...buttons);
    } else if (question) {
      field = numberField(question.right.length, (text) => lesson.predict(at, text), navigation.step);
      answers.replaceChildren(field);
    } else answers.replaceChildren();
  }

  return {
    element: panel,
    show(position) {
      panel.hidden = !lesson.isOn;
      if (!lesson.isOn) return;
      at = position;
      question = questionAt(trace, position);
      outcome.className = `gv-predicted${lesson.outcome ? (lesson.outcome.isRight ? " gv-right" : " gv-wrong") : ""}`;
      outcome.replaceChildren(...(lesson.outcome ? told(lesson.outcome) : []));
      hint.textContent = lesson.outcome ? "" : howTo(question);
      asked.replaceChildren(...(question ? asking(trace, question, position) : [nothingToAsk(trace, position)]));
      offer();
      const { right, all } = lesson.score;
      score.textContent = all === 0 ? "" : `${right} of ${all} predicted`;
      const chain = chainRows(trace, position);
      panel.replaceChildren(predict, chain);
    },
    answer(key) {
      const index = /^[1-9]$/.test(key) ? Number(key) - 1 : -1;
      if (buttons[index]) {
        choose(index);
        return true;
      }
      if (!field || !/^[-\d.−]$/.test(key)) return false;
      field.value = key;
      field.focus({ preventScroll: true });
      lesson.predict(at, key);
      return true;
    },
    isAnswered: () => lesson.isOn && lesson.predictedAt(at) !== null,
  };
}

function asking(trace: Trace, question: Question, position: number): (Node | string)[] {
  const formula = question.line ? lineFormula(trace, question.line, position) : null;
  return [element("b", {}, "Predict: "), ...marked(question.ask), ...(formula ? [" ", mathElement(formula)] : [])];
}

function nothingToAsk(trace: Trace, position: number): HTMLElement {
  const text = position === trace.events.length ? "The lesson is over: go back with ←, or restart." : "Nothing to predict here: step on.";
  return element("span", { class: "gv-note" }, text);
}

/** How to answer, where there is no outcome to tell. */
function howTo(question: Question | null): string {
  if (!question) return "";
  return question.kind === "choice" ? `1 to ${question.choices.length} choose, → reveals` : "type, Enter reveals";
}

function told({ isRight, question }: Outcome): (Node | string)[] {
  const answer = question.kind === "choice" ? (question.choices[question.right] ?? "") : question.right.map((one) => quantity(one, 3)).join(", ");
  return [element("b", {}, isRight ? "✓ Right: " : "✗ Not so: "), ...marked(answer)];
}

function choiceButton(text: string, index: number, choose: (index: number) => void): HTMLButtonElement {
  const button = element("button", { type: "button", class: "gv-link", "aria-pressed": "false", title: `Predict this (${index + 1})` }, element("kbd", {}, String(index + 1)), " ", ...marked(text));
  button.addEventListener("click", () => choose(index));
  return button;
}

/** A field for numbers; Enter reveals, and so does → behind what was typed. */
function numberField(count: number, changed: (text: string) => void, reveal: () => void): HTMLInputElement {
  const what = count === 1 ? "a number" : `${count} numbers`;
  const field = textField({ inputmode: "decimal", "aria-label": `Your prediction, ${what}`, placeholder: what });
  field.addEventListener("input", () => changed(field.value));
  field.addEventListener("keydown", (event) => {
    const isAtEnd = event.key === "ArrowRight" && field.selectionStart === field.value.length;
    if (event.key === "Enter" || isAtEnd) {
      event.preventDefault();
      reveal();
    }
  });
  return field;
}
