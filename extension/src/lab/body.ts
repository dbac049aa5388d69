// The debugger as a widget of JupyterLab, or words in its place: what the side panel and an opened recording hold.

import { Signal } from "@lumino/signaling";
import { Widget } from "@lumino/widgets";

import type { Trace } from "../model/schema";
import { element } from "../views/elements/dom";
import { createDebugger, type DebuggerView, type Host } from "../views/shell/debugger";
import type { Session } from "./model";

export class DebuggerBody extends Widget {
  /** Null while words stand in its place. */
  view: DebuggerView | null = null;
  /** What it shows, or where, has changed. */
  readonly changed = new Signal<this, void>(this);

  /** `host` hears of what a person does here, by hand or by command. */
  constructor(private readonly host: Host = { onPosition: () => undefined }) {
    super();
    this.addClass("gradviz-lab-Body");
  }

  debug(trace: Trace, position: number): void {
    if (this.view) this.view.setTrace(trace, position);
    else {
      const root = element("div");
      this.node.replaceChildren(root);
      const onPosition = (to: number): void => {
        this.host.onPosition(to);
        this.changed.emit();
      };
      this.view = createDebugger(root, trace, position, { ...this.host, onPosition });
    }
    this.changed.emit();
  }

  /** Shows what is new of the session: somebody else has moved or marked it, or a cell waits. */
  follow({ position, marks, waits }: Partial<Session>): void {
    if (position !== undefined) this.view?.setPosition(position);
    if (marks) this.view?.setMarks(marks);
    if (waits !== undefined) this.view?.setWait(waits);
    this.changed.emit();
  }

  /** Shows elements instead of a debugger. */
  explain(...content: (Node | string)[]): void {
    this.clear();
    this.node.replaceChildren(element("div", { class: "gradviz-lab-Message" }, ...content));
    this.changed.emit();
  }

  /** Shows what went wrong instead of a debugger. */
  complain(problem: string): void {
    this.explain(problem);
    this.node.firstElementChild?.setAttribute("role", "alert");
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.clear();
    Signal.clearData(this);
    super.dispose();
  }

  private clear(): void {
    this.view?.dispose();
    this.view = null;
  }
}
