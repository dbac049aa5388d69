// The side panel: the debugger over the session of the current notebook, or words that say why there is none; the same body is
// that of an opened file.

import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import { LabIcon } from "@jupyterlab/ui-components";
import { Signal } from "@lumino/signaling";
import { PanelLayout, Widget } from "@lumino/widgets";

import { KERNEL_GONE, type Ask } from "../model/answers/asking";
import type { Marks, Trace } from "../model/schema";
import { element } from "../views/elements/dom";
import { createDebugger, type DebuggerView } from "../views/shell/debugger";
import { SessionModel } from "./model";

/** A nabla. */
export const gradvizIcon = new LabIcon({
  name: "gradviz:nabla",
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16"><path class="jp-icon3" fill="#616161" fill-rule="evenodd" d="M1 2h14L8.9 14.5H7.1zm3.6 2L8.6 12.2 12.4 4z"/></svg>`,
});

export class DebuggerBody extends Widget {
  /** Null while words stand in its place. */
  view: DebuggerView | null = null;

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
    if (this.view !== null) {
      this.view.setTrace(trace, position);
      return;
    }
    const root = element("div");
    this.node.replaceChildren(root);
    this.view = createDebugger(root, trace, position, { onPosition: this.onPosition, onMarks: this.onMarks, ...(this.ask && { ask: this.ask, hasWhole: true }) });
  }

  /** Shows elements instead of a debugger. */
  explain(...content: (Node | string)[]): void {
    this.clear();
    this.node.replaceChildren(element("div", { class: "gradviz-lab-Message" }, ...content));
  }

  /** Shows what went wrong instead of a debugger. */
  complain(problem: string): void {
    this.explain(problem);
    this.node.firstElementChild?.setAttribute("role", "alert");
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.clear();
    super.dispose();
  }

  private clear(): void {
    this.view?.dispose();
    this.view = null;
  }
}

const EXAMPLE = "session = gradviz.debug(net, ys, workspace=ws)";

export class DebuggerPanel extends Widget {
  readonly body: DebuggerBody;
  private readonly models = new Map<NotebookPanel, SessionModel>();
  private model: SessionModel | null = null;

  constructor(notebooks: INotebookTracker) {
    super();
    this.id = "gradviz-panel";
    this.addClass("gradviz-lab-Panel");
    this.title.icon = gradvizIcon;
    this.title.caption = "Gradients (gradviz)";
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", "Gradients of the current notebook");
    const ask: Ask = (question) => this.model?.line.ask(question) ?? Promise.resolve(KERNEL_GONE);
    this.body = new DebuggerBody((position) => this.model?.moveTo(position), (marks) => this.model?.mark(marks), ask);
    const layout = (this.layout = new PanelLayout());
    layout.addWidget(this.body);
    // Every notebook gets its model at once, not when it is looked at: the sign of its kernel comes only once.
    notebooks.forEach((notebook) => void this.watch(notebook));
    notebooks.widgetAdded.connect((_, notebook) => void this.watch(notebook));
    notebooks.currentChanged.connect((_, notebook) => this.bind(notebook));
    this.bind(notebooks.currentWidget);
  }

  /** The notebook's model; it is made at the first call. */
  private watch(notebook: NotebookPanel): SessionModel {
    const known = this.models.get(notebook);
    if (known !== undefined) return known;
    const model = new SessionModel(notebook.sessionContext);
    this.models.set(notebook, model);
    // The selector of the shortcuts: they are alive in notebooks that have a session.
    model.changed.connect(() => void (notebook.node.dataset["gradvizSession"] = String(model.session !== null)));
    notebook.disposed.connect(() => {
      this.models.delete(notebook);
      model.dispose();
    });
    return model;
  }

  private bind(notebook: NotebookPanel | null): void {
    const model = notebook && this.watch(notebook);
    if (model !== null && model === this.model) return;
    if (this.model !== null) Signal.disconnectBetween(this.model, this);
    this.model = model;
    model?.changed.connect(this.refresh, this);
    model?.moved.connect((_, position) => this.body.view?.setPosition(position), this);
    model?.marked.connect((_, marks) => this.body.view?.setMarks(marks), this);
    this.refresh();
  }

  private refresh(): void {
    const session = this.model?.session ?? null;
    if (session !== null) {
      this.body.debug(session.trace, session.position);
      this.body.view?.setMarks(session.marks);
    } else if (this.model?.problem) this.body.complain(`The session of this notebook cannot be shown: ${this.model.problem}.`);
    else if (this.model === null) this.body.explain("Open a notebook: the gradients that it debugs are shown here.");
    else this.body.explain("This notebook has no session yet. Run ", element("code", {}, EXAMPLE), " in a cell: its newest session is shown here.");
  }
}
