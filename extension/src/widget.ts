// The notebook widget: an anywidget module around the debugger.

import { createLine, type Reply } from "./model/answers/asking";
import { parseTrace } from "./model/document/parse";
import { mismatch } from "./model/schema/protocol";
import { allLines } from "./model/recording/lookup";
import type { Marks, Trace } from "./model/schema";
import { messageOf, readMarks } from "./model/schema/reader";
import { element } from "./views/elements/dom";
import { counted } from "./views/elements/numbers";
import { createDebugger, type DebuggerView } from "./views/shell/debugger";
import { createPatience, KERNEL_LOST, LOST, RESTED, type Rested } from "./views/shell/notices";

/** What the model holds: the traits of the same names in Python. */
export interface State {
  trace: string;
  position: number;
  marks: Marks | null;
  session?: string;
  protocol?: number;
  waits?: boolean;
  /** The name of this page for what is told from it, and how often that was; they are not in Python. */
  page?: string;
  turn?: number;
  /** The last turn of each page that Python has heard of. */
  heard?: Record<string, number>;
  /** Counts what Python has changed. */
  revision?: number;
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
  send(message: Record<string, unknown>): void;
  /** Whether there is no kernel: nobody has more than the document. */
  isAlone?: boolean;
}

/** What anywidget has of ipywidgets' model, whose own way to hear a kernel it overrides. */
interface HearingModel {
  comm?: { on_msg?(hear: (message: unknown) => void): void };
  _handle_comm_msg?(message: unknown): unknown;
}

/**
 * Hears the kernel whenever this module came. Where that took two seconds, anywidget drops all that a kernel says from
 * then on; what was missed by now, or comes older than what there is, is asked for.
 */
function initialize({ model }: { model: Model }): void {
  let newest = model.get("revision") ?? 0;
  function resend(of: { revision?: number }): void {
    try {
      model.send({ type: "resend", ...of });
    } catch {
      // There is no kernel any more: the views say so.
    }
  }
  model.on("change:page", (whole) => {
    const hearing = whole as HearingModel;
    const { _handle_comm_msg: hear } = Object.getPrototypeOf(Object.getPrototypeOf(hearing)) as HearingModel;
    if (hear) hearing.comm?.on_msg?.((message) => hear.call(hearing, message));
  });
  model.on("change:revision", () => {
    const revision = model.get("revision") ?? 0;
    // Of what else was lost the newest revision says nothing.
    if (revision < newest) resend({});
    newest = Math.max(newest, revision);
  });
  model.set("page", Math.random().toString(36).slice(2));
  resend({ revision: newest });
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  let isLost = false;
  /** An empty line of text until the kernel is lost. */
  const notice = element("div", { class: "gv-lost", role: "status" });
  /** Where this view went with its last turn, as long as the kernel may not have heard of it. */
  let ahead: { position: number; turn: number } | null = null;
  const line = createLine((message) => {
    if (isLost) throw new Error("the kernel is gone");
    model.send(message);
  });
  const differs = element("div", { class: "gv-lost", role: "status" }, model.isAlone ? "" : mismatch("widget", model.get("protocol")));
  const page = model.get("page") ?? "";
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
      if (own !== turn) return;
      const trace = parseTrace(document);
      if (!view) await patience.say(`Opening ${counted(allLines(trace).length, "operator")} …`);
      if (own === turn) show(trace);
    } catch (error) {
      view?.dispose();
      view = null;
      const message = messageOf(error);
      el.replaceChildren(differs, element("div", { class: "gradviz gv-error", role: "alert" }, message));
    } finally {
      patience.end();
    }
  }

  function show(trace: Trace): void {
    if (view) view.setTrace(trace, model.get("position"));
    else {
      const root = element("div");
      el.replaceChildren(notice, differs, root);
      const host = {
        onPosition: go,
        onMarks: (marks: Marks) => report("marks", marks),
        onGoOn: () => tell({ type: "go_on" }),
        ask: line.ask,
        get hasWhole() {
          return model.isAlone !== true && !isLost;
        },
      };
      view = createDebugger(root, trace, model.get("position"), host);
    }
    showMarks();
    showWait();
    el.dispatchEvent(new Event(SHOWN));
  }

  function go(to: number): void {
    report("position", to);
    restAt(to);
  }

  function tell(message: Record<string, unknown>): void {
    if (model.isAlone || isLost) return;
    try {
      model.send(message);
    } catch {
      // What is shown was recorded: stepping goes on without a kernel.
      lose();
    }
  }

  function lose(): void {
    isLost = true;
    notice.textContent = LOST;
    line.cut();
    showWait();
  }

  /** What was changed here: other views of this model hear it at once, the kernel and other pages by a message. */
  function report<K extends keyof State>(name: K, value: State[K]): void {
    const turn = (model.get("turn") ?? 0) + 1;
    model.set("turn", turn);
    if (name === "position" && !model.isAlone && !isLost) ahead = { position: value as number, turn };
    model.set(name, value);
    tell({ type: "change", by: page, turn, session: model.get("session"), state: { [name]: value } });
  }

  /** What was changed in another page. */
  function follow(message: unknown): void {
    const { type, by, state } = (message ?? {}) as { type?: unknown; by?: unknown; state?: Partial<State> };
    if (type !== "change" || by === page || !state) return;
    for (const [name, value] of Object.entries(state)) model.set(name as keyof State, value);
  }

  function isAhead(): boolean {
    return ahead !== null && (model.get("heard")?.[page] ?? 0) < ahead.turn;
  }

  function showWait(): void {
    view?.setWait(!isLost && model.get("waits") === true);
  }

  /** Where a kernel tells them; else they are those of the document. */
  function showMarks(): void {
    const marks = model.get("marks");
    if (marks) view?.setMarks(readMarks(marks));
  }

  const listeners = Object.entries({
    "change:trace": () => {
      // A position in the document before means nothing in this one.
      ahead = null;
      restAt(model.get("position"));
      void showTrace();
    },
    "change:position": () => {
      if (isAhead()) return;
      ahead = null;
      view?.setPosition(model.get("position"));
      restAt(model.get("position"));
    },
    "change:heard": () => {
      if (ahead === null || isAhead()) return;
      // Where the kernel was on the way matters no more.
      const { position } = ahead;
      ahead = null;
      model.set("position", position);
    },
    "change:marks": showMarks,
    "change:waits": showWait,
    "msg:custom": (message?: unknown) => {
      line.hear(message);
      follow(message);
    },
  });
  for (const [name, listener] of listeners) model.on(name, listener);
  el.addEventListener(KERNEL_LOST, lose);
  void showTrace();
  return () => {
    turn++;
    for (const [name, listener] of listeners) model.off(name, listener);
    clearTimeout(rest);
    el.removeEventListener(KERNEL_LOST, lose);
    view?.dispose();
  };
}

export default { initialize, render };
