// The debugger as a widget of JupyterLab, or words in its place: what the side panel and an opened recording hold.

import { Signal } from "@lumino/signaling";
import { Widget } from "@lumino/widgets";

import type { Ask } from "../model/answers/asking";
import { lengthOf } from "../model/recording/lookup";
import type { Marks, Trace } from "../model/schema";
import { element } from "../views/elements/dom";
import { createDebugger, type DebuggerView } from "../views/shell/debugger";

export class DebuggerBody extends Widget {
  /** Null while words stand in its place. */
  view: DebuggerView | null = null;
  /** What it shows, or where, has changed. */
  readonly changed = new Signal<this, void>(this);
  private length = 0;

  /**
   * `onPosition` hears of every move that a person makes here, by hand or by command; `onMarks` of other marks; `ask` answers questions;
   * `onGoOn` lets the cell that waits go on.
   */
  constructor(
    private readonly onPosition: (position: number) => void = () => undefined,
    private readonly onMarks: (marks: Marks) => void = () => undefined,
    private readonly ask?: Ask,
    private readonly onGoOn: () => void = () => undefined,
  ) {
    super();
    this.addClass("gradviz-lab-Body");
  }

  /** Where the recording stands, and how many events it has; null: there is none. */
  get place(): { position: number; length: number } | null {
    return this.view && { position: this.view.position, length: this.length };
  }

  /** Shows a trace at a position. */
  debug(trace: Trace, position: number): void {
    this.length = lengthOf(trace);
    if (this.view === null) this.build(trace, position);
    else this.view.setTrace(trace, position);
    this.changed.emit();
  }

  /** Moves to a position that somebody else has gone to. */
  follow(position: number): void {
    this.view?.setPosition(position);
    this.changed.emit();
  }

  /** Shows whether a cell waits at the session. */
  wait(isOn: boolean): void {
    this.view?.setWait(isOn);
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

  private build(trace: Trace, position: number): void {
    const root = element("div");
    this.node.replaceChildren(root);
    const onPosition = (to: number): void => {
      this.onPosition(to);
      this.changed.emit();
    };
    this.view = createDebugger(root, trace, position, { onPosition, onMarks: this.onMarks, onGoOn: this.onGoOn, ...(this.ask && { ask: this.ask, hasWhole: true }) });
  }

  private clear(): void {
    this.view?.dispose();
    this.view = null;
  }
}
