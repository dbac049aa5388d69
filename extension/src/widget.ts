// The notebook widget: an anywidget module around the debugger.

import { parseTrace } from "./document/parse";
import { createDebugger, type DebuggerView } from "./views/debugger";
import { element } from "./views/dom";

/** What this module uses of an anywidget model. */
interface Model {
  get(name: "trace"): string;
  get(name: "position"): number;
  set(name: "position", value: number): void;
  on(name: string, listener: () => void): void;
  off(name: string, listener: () => void): void;
  save_changes(): void;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const report = reportPosition(model);
  let view: DebuggerView | null = null;

  function showTrace(): void {
    try {
      const trace = parseTrace(model.get("trace"));
      if (view) view.setTrace(trace, model.get("position"));
      else {
        const root = element("div");
        el.replaceChildren(root);
        view = createDebugger(root, trace, model.get("position"), { onPosition: report.later });
      }
    } catch (error) {
      view?.dispose();
      view = null;
      const message = error instanceof Error ? error.message : String(error);
      el.replaceChildren(element("div", { class: "gradviz gv-error", role: "alert" }, message));
    }
  }

  const showPosition = (): void => view?.setPosition(model.get("position"));
  model.on("change:trace", showTrace);
  model.on("change:position", showPosition);
  showTrace();
  return () => {
    model.off("change:trace", showTrace);
    model.off("change:position", showPosition);
    report.cancel();
    view?.dispose();
  };
}

/** Tells the kernel the position, at most once a frame; stepping never waits for it. */
function reportPosition(model: Model): { later: (position: number) => void; cancel: () => void } {
  let frame = 0;
  let latest = 0;

  function report(): void {
    frame = 0;
    try {
      model.set("position", latest);
      model.save_changes();
    } catch {
      // The kernel or its channel is gone. What is shown was recorded: stepping goes on without it.
    }
  }

  function later(position: number): void {
    latest = position;
    if (frame === 0) frame = requestAnimationFrame(report);
  }

  return { later, cancel: () => cancelAnimationFrame(frame) };
}

export default { render };
