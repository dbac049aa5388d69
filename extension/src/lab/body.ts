// The body of the side panel and of an opened file: a debugger, or words that say why there is none.

import { Widget } from "@lumino/widgets";

import type { Ask } from "../model/answers/asking";
import type { Marks, Trace } from "../model/schema";
import { createDebugger, type DebuggerView } from "../views/shell/debugger";

export class DebuggerBody extends Widget {
  private view: DebuggerView | null = null;
  private trace: Trace | null = null;

  /** `onPosition` hears of every move that a person makes here, by hand or by command; `onMarks` of other marks; `ask` answers questions. */
  constructor(
    private readonly onPosition: (position: number) => void = () => undefined,
    private readonly onMarks: (marks: Marks) => void = () => undefined,
    private readonly ask?: Ask,
  ) {
    super();
    this.addClass("gradviz-lab-Body");
  }

  /** Shows a trace at a position. */
  debug(trace: Trace, position: number): void {
    this.trace = trace;
    if (this.view !== null) {
      this.view.setTrace(trace, position);
      return;
    }
    const root = document.createElement("div");
    this.node.replaceChildren(root);
    this.view = createDebugger(root, trace, position, { onPosition: this.onPosition, onMarks: this.onMarks, ...(this.ask && { ask: this.ask }) });
  }

  /** Shows elements instead of a debugger. */
  explain(...content: (Node | string)[]): void {
    this.clear();
    const box = document.createElement("div");
    box.className = "gradviz-lab-Message";
    box.append(...content);
    this.node.replaceChildren(box);
  }

  /** Shows what went wrong instead of a debugger. */
  complain(problem: string): void {
    this.explain(problem);
    this.node.firstElementChild?.setAttribute("role", "alert");
  }

  /** Follows a move that was made elsewhere. */
  setPosition(position: number): void {
    this.view?.setPosition(position);
  }

  /** Follows a change of breakpoints or watches that was made elsewhere. */
  setMarks(marks: Marks): void {
    this.view?.setMarks(marks);
  }

  /** Where the debugger stands; null while there is none. */
  get place(): { trace: Trace; position: number } | null {
    return this.view && this.trace && { trace: this.trace, position: this.view.position };
  }

  /** Moves as if the person had done it in the view. */
  moveTo(position: number): void {
    if (this.view === null || this.view.position === position) return;
    this.view.setPosition(position);
    this.onPosition(position);
  }

  /** Runs to the next breakpoint. */
  continue(): void {
    this.view?.continue();
  }

  /** Runs back to the last breakpoint. */
  reverseContinue(): void {
    this.view?.reverseContinue();
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.clear();
    super.dispose();
  }

  private clear(): void {
    this.view?.dispose();
    this.view = null;
    this.trace = null;
  }
}
