// The notebook widget: an anywidget module around the debugger.

import { createLine, KERNEL_GONE, type Ask, type Question, type Reply } from "./model/answers/asking";
import { parseTrace } from "./model/document/parse";
import { allLines } from "./model/recording/lines";
import type { Marks } from "./model/schema";
import { messageOf, readMarks } from "./model/schema/reader";
import { element } from "./views/elements/dom";
import { counted } from "./views/elements/numbers";
import { createDebugger, type DebuggerView } from "./views/shell/debugger";
import { createLostNotice, createPatience, RESTED, type LostNotice, type Patience, type Rested } from "./views/shell/notices";

/** What the model holds: the traits of the same names in Python. */
export interface State {
  trace: string;
  position: number;
  marks: Marks | null;
}

/** The event that tells the element of the widget that it shows a debugger now. */
export const SHOWN = "gradviz-shown";

/** A widget rests that has stood at a position for so long, in milliseconds. */
const REST = 1_000;

/** What this module uses of an anywidget model. */
export interface Model {
  get<K extends keyof State>(name: K): State[K];
  set<K extends keyof State>(name: K, value: State[K]): void;
  on(name: string, listener: (content?: unknown) => void): void;
  off(name: string, listener: (content?: unknown) => void): void;
  save_changes(): void;
  /** Sends a message to the kernel. */
  send(message: Record<string, unknown>): void;
  /** Whether there is no kernel: nobody has more than the document. */
  isAlone?: boolean;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const lost = createLostNotice(el, () => line.cut());
  const line = createLine((message) => {
    // Whatever is asked comes behind the steps that led there.
    position.tell();
    if (lost.isLost) throw new Error("the kernel is gone");
    model.send(message);
  });
  const position = createPosition((question) => line.ask(question), lost, follow);
  let view: DebuggerView | null = null;
  let rest = 0;

  function restAt(position: number): void {
    clearTimeout(rest);
    const still = (): Promise<Reply> => line.ask({ question: "still", arguments: [], position });
    rest = window.setTimeout(() => el.dispatchEvent(new CustomEvent(RESTED, { bubbles: true, detail: { still } }) satisfies Rested), REST);
  }

  /** Counts the documents: one that takes long is not shown any more when another one has come. */
  let turn = 0;

  async function showTrace(): Promise<void> {
    const document = model.get("trace");
    const own = ++turn;
    const patience = createPatience(el, document.length);
    try {
      if (!view) await patience.say(`Opening a recording of ${Math.round(document.length / 1e6)} MB …`);
      if (own === turn) await show(document, patience, () => own === turn);
    } catch (error) {
      view?.dispose();
      view = null;
      const message = messageOf(error);
      el.replaceChildren(element("div", { class: "gradviz gv-error", role: "alert" }, message));
    } finally {
      patience.end();
    }
  }

  async function show(document: string, patience: Patience, isDue: () => boolean): Promise<void> {
    const trace = parseTrace(document);
    if (!view) await patience.say(`Opening ${counted(allLines(trace).length, "operator")} …`);
    if (!isDue()) return;
    // A page shows first a part and then the whole of one recording; elsewhere a position in the document before means nothing in this one.
    if (model.isAlone) position.tell();
    position.cancel();
    if (view) view.setTrace(trace, model.get("position"));
    else {
      const root = element("div");
      el.replaceChildren(lost.element, root);
      view = createDebugger(root, trace, model.get("position"), { onPosition: go, onMarks: (marks) => report(model, lost, "marks", marks), ask: line.ask, hasWhole: model.isAlone !== true });
    }
    showMarks();
    el.dispatchEvent(new Event(SHOWN));
  }

  function go(to: number): void {
    position.later(to);
    restAt(to);
  }

  /** Goes where the kernel is. */
  function follow(): void {
    view?.setPosition(model.get("position"));
    restAt(model.get("position"));
  }

  /** Where a kernel tells them; else they are those of the document. */
  function showMarks(): void {
    const marks = model.get("marks");
    if (marks) view?.setMarks(readMarks(marks));
  }

  const listeners = Object.entries({
    "change:trace": () => void showTrace(),
    "change:position": () => {
      if (!position.isAhead) follow();
    },
    "change:marks": showMarks,
    "msg:custom": line.hear,
  });
  for (const [name, listener] of listeners) model.on(name, listener);
  void showTrace();
  return () => {
    turn++;
    for (const [name, listener] of listeners) model.off(name, listener);
    clearTimeout(rest);
    position.cancel();
    lost.dispose();
    view?.dispose();
  };
}

function report<K extends keyof State>(model: Model, lost: LostNotice, name: K, value: State[K]): void {
  try {
    model.set(name, value);
    model.save_changes();
  } catch {
    // What is shown was recorded: stepping goes on without a kernel.
    lost.tell();
  }
}

/**
 * Tells the kernel the position, at most once a frame; stepping never waits for it.
 *
 * It is told as a question is put: ipywidgets would keep back a change of the model until the kernel has done what it was
 * told before, and a cell that was run meanwhile would come first. Where the kernel was on the way matters no more while
 * the view is ahead of it; once it has heard all, the view goes where it is.
 */
function createPosition(ask: Ask, lost: LostNotice, follow: () => void) {
  let frame = 0;
  let latest = 0;
  let isAhead = false;
  let newest: Question | null = null;

  function tell(): void {
    if (frame === 0) return;
    cancelAnimationFrame(frame);
    frame = 0;
    const told: Question = { question: "stand", arguments: [], position: latest };
    newest = told;
    void ask(told).then((reply) => {
      if (reply === KERNEL_GONE && !lost.isLost) lost.tell();
      if (newest !== told || frame !== 0) return;
      isAhead = false;
      if ("blocks" in reply) follow();
    });
  }

  function later(position: number): void {
    latest = position;
    isAhead = true;
    if (frame === 0) frame = requestAnimationFrame(tell);
  }

  /** What was not told yet is forgotten, and what the kernel says of what was told. */
  function cancel(): void {
    cancelAnimationFrame(frame);
    frame = 0;
    newest = null;
    isAhead = false;
  }

  return {
    later,
    tell,
    cancel,
    /** Whether the kernel has yet to say that it is where this view is. */
    get isAhead() {
      return isAhead;
    },
  };
}

export default { render };
