// The notebook widget: an anywidget module around the debugger.

import { parseTrace } from "./document/parse";
import { marks as readMarks } from "./document/parts";
import { createLostNotice, type LostNotice } from "./lost";
import type { Marks } from "./marks";
import { createDebugger, type DebuggerView } from "./views/debugger";
import { element } from "./views/dom";

/** What the model holds: the traits of the same names in Python. */
export interface State {
  trace: string;
  position: number;
  marks: Marks | null;
}

/** What this module uses of an anywidget model. */
export interface Model {
  get<K extends keyof State>(name: K): State[K];
  set<K extends keyof State>(name: K, value: State[K]): void;
  on(name: string, listener: () => void): void;
  off(name: string, listener: () => void): void;
  save_changes(): void;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const lost = createLostNotice(el);
  const report = reportPosition(model, lost);
  let view: DebuggerView | null = null;

  function showTrace(): void {
    try {
      const trace = parseTrace(model.get("trace"));
      if (view) view.setTrace(trace, model.get("position"));
      else {
        const root = element("div");
        el.replaceChildren(lost.element, root);
        view = createDebugger(root, trace, model.get("position"), { onPosition: report.later, onMarks: reportMarks });
      }
      showMarks();
    } catch (error) {
      view?.dispose();
      view = null;
      const message = error instanceof Error ? error.message : String(error);
      el.replaceChildren(element("div", { class: "gradviz gv-error", role: "alert" }, message));
    }
  }

  function reportMarks(marks: Marks): void {
    try {
      model.set("marks", marks);
      model.save_changes();
    } catch {
      lost.tell();
    }
  }

  /** Where a kernel tells them; else they are those of the document. */
  function showMarks(): void {
    const marks = model.get("marks");
    if (marks) view?.setMarks(readMarks(marks, "marks"));
  }

  const showPosition = (): void => view?.setPosition(model.get("position"));
  model.on("change:trace", showTrace);
  model.on("change:position", showPosition);
  model.on("change:marks", showMarks);
  showTrace();
  return () => {
    model.off("change:trace", showTrace);
    model.off("change:position", showPosition);
    model.off("change:marks", showMarks);
    report.cancel();
    lost.dispose();
    view?.dispose();
  };
}

/** Tells the kernel the position, at most once a frame; stepping never waits for it. */
function reportPosition(model: Model, lost: LostNotice): { later: (position: number) => void; cancel: () => void } {
  let frame = 0;
  let latest = 0;

  function report(): void {
    frame = 0;
    if (lost.isLost) return;
    try {
      model.set("position", latest);
      model.save_changes();
    } catch {
      // What is shown was recorded: stepping goes on without a kernel.
      lost.tell();
    }
  }

  function later(position: number): void {
    latest = position;
    if (frame === 0) frame = requestAnimationFrame(report);
  }

  return { later, cancel: () => cancelAnimationFrame(frame) };
}

export default { render };
