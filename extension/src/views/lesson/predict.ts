// Predict, then reveal: a question before each step, after it whether the prediction was right, and the chain rule in numbers.

import { joinedBy, markup, mathElement, named, noun, nounText, numeral, type Printed } from "../../formula/mathml";
import { lineFormula } from "../../formula/steps";
import { chainAt, sumAt, type Link, type Sum } from "../../lesson/chain";
import { COURSES, hasNumbers, questionBefore, type Lesson, type Outcome, type Question } from "../../lesson/lesson";
import { numbersOf } from "../../model/recording/values";
import type { Trace, Value } from "../../model/schema";
import { DIGITS, glance, NOT_YET, quantity } from "../elements/numbers";
import { button, element, marked } from "../elements/dom";
import { createChoice, textField } from "../elements/controls";
import type { Navigation } from "../elements/navigation";
import { lengthOf } from "../../model/recording/lookup";

const ABOUT = { "Numbers first": "The values, then the gradients: what runs", "Whole story": "How each gradient operator comes about, then what runs" };

export function createPredict(trace: Trace, navigation: Navigation, lesson: Lesson) {
  const course = createChoice("gv-segments", "Course of the lesson", COURSES, (name) => ({ title: ABOUT[name] }), (name) => {
    lesson.take(name);
    show(at);
  });
  const outcome = element("span", { class: "gv-predicted", role: "status" });
  const hint = element("span", { class: "gv-note" });
  const asked = element("div", { class: "gv-question", "aria-live": "polite" });
  const answers = element("div", { class: "gv-answers", role: "group", "aria-label": "Your prediction" });
  const score = element("span", { class: "gv-score" });
  const predict = element("div", { class: "gv-predict", tabindex: 0, role: "group", "aria-label": "Predict" }, element("p", {}, ...(hasNumbers(trace) ? [course.element] : []), outcome, hint), asked, answers, score);
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

  function show(position: number): void {
    panel.hidden = !lesson.isOn;
    at = position;
    if (!lesson.isOn) return;
    course.show(lesson.course);
    const next = lesson.next(trace, position);
    question = next > position ? questionBefore(trace, next) : null;
    outcome.className = `gv-predicted${lesson.outcome ? (lesson.outcome.isRight ? " gv-right" : " gv-wrong") : ""}`;
    outcome.replaceChildren(...(lesson.outcome ? verdict(lesson.outcome) : []));
    hint.textContent = lesson.outcome ? "" : howTo(question);
    asked.replaceChildren(...(question ? asking(trace, question, position) : [nothingToAsk(trace, position)]));
    offer();
    const { right, all } = lesson.score;
    score.textContent = all === 0 ? "" : `${right} of ${all} predicted`;
    panel.replaceChildren(predict, chainRows(trace, position));
  }

  return {
    element: panel,
    show,
    /** Takes a key that is part of an answer: 1 to 4, or the beginning of a number; false where it means nothing. */
    answer(key: string) {
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
    /** Whether a prediction waits to be revealed. */
    isAnswered: () => lesson.isOn && lesson.predictedAt(at) !== null,
  };
}

function asking(trace: Trace, question: Question, position: number): (Node | string)[] {
  const formula = question.line ? lineFormula(trace, question.line, position) : null;
  return [element("b", {}, "Predict: "), ...marked(question.ask), ...(formula ? [" ", mathElement(formula)] : [])];
}

function nothingToAsk(trace: Trace, position: number): HTMLElement {
  const text = position === lengthOf(trace) && trace.upcoming === null ? "The lesson is over: go back with ←, or restart." : "Nothing to predict here: step on.";
  return element("span", { class: "gv-note" }, text);
}

/** How to answer, where there is no outcome to tell. */
function howTo(question: Question | null): string {
  if (!question) return "";
  return question.kind === "choice" ? `1 to ${question.choices.length} choose, → reveals` : "type, Enter reveals";
}

function verdict({ isRight, question }: Outcome): (Node | string)[] {
  const answer = question.kind === "choice" ? (question.choices[question.right] ?? "") : question.right.map((one) => quantity(one, 3)).join(", ");
  return [element("b", {}, isRight ? "✓ Right: " : "✗ Not so: "), ...marked(answer)];
}

function choiceButton(text: string, index: number, choose: (index: number) => void): HTMLButtonElement {
  const attributes = { class: "gv-link", "aria-pressed": "false", title: `Predict this (${index + 1})` };
  return button(() => choose(index), attributes, element("kbd", {}, String(index + 1)), " ", ...marked(text));
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

/** A row for each gradient that the operator of the event gives. */
function chainRows(trace: Trace, position: number): HTMLElement {
  const links = chainAt(trace, position);
  const list = element("div", { class: "gv-chain", role: "group", "aria-label": "Chain rule", tabindex: 0 });
  const sum = links.length === 0 ? sumAt(trace, position) : null;
  const what = sum ? "gradient = sum over all that read the blob" : "gradient = local derivative × gradient that arrives";
  const equations = sum ? [addition(sum)] : links.map(equation);
  list.append(element("div", { class: "gv-note" }, what), ...equations.map(equated));
  return list;
}

/** Sides that are equal, each printed by itself, so that a long equation goes on in another line. */
function equated(sides: Printed[]): HTMLElement {
  const printed = sides.map((side, index) => (index === 0 ? side : joinedBy("=", [NOTHING, side])));
  return element("div", { class: "gv-equation", role: "math", "aria-label": joinedBy("=", sides).text }, ...printed.map(mathElement));
}

const NOTHING: Printed = { text: "", markup: [] };

/** The sides of "∂a = 0.5 + 0.2 = 0.7"; of larger arrays only the sum is shown: norms do not add up. */
function addition({ total, result, terms }: Sum): Printed[] {
  const left = named(total);
  if (!result) return [left, numeral(NOT_YET)];
  const hasNumbers = terms.length > 0 && [result, ...terms].every((one) => numbersOf(one) !== null);
  if (!hasNumbers) return [left, numeral(glance(result))];
  const shown = terms.map((one, index) => numeral(index === 0 ? glance(one) : signed(glance(one))));
  return [left, joinedBy("+", shown), numeral(glance(result))];
}

function equation(link: Link): Printed[] {
  const { x, y, local, upstream, result } = link;
  const left: Printed[] = [named(x), joinedBy("×", [slope(link), named(y)])];
  if (!result || !upstream) return [...left, numeral(NOT_YET)];
  if (!local) return [...left, numeral(glance(result))];
  return [...left, joinedBy("×", [numeral(localText(local, result)), numeral(signed(glance(upstream)))]), numeral(glance(result))];
}

/** "∂p/∂x", of blobs, not of their gradients. */
function slope({ x, y }: Link): Printed {
  return { text: `${nounText(y)}/${nounText(x)}`, markup: [markup("mfrac", noun(y), noun(x))] };
}

/** "0.25", "[0.25, —]": a dash where the gradient that arrives is 0, so that the quotient says nothing. */
function localText(local: (number | null)[], { size }: Value): string {
  const shown = local.map((one) => (one === null ? "—" : quantity(one, DIGITS)));
  return size === 1 ? signed(shown[0] ?? "") : `[${shown.join(", ")}]`;
}

const signed = (text: string): string => (text.startsWith("−") ? `(${text})` : text);
