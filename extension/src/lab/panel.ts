// The side panel: the debugger over the session of the current notebook.

import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import { PanelLayout, Widget } from "@lumino/widgets";

import { KERNEL_GONE, type Question, type Reply } from "../model/answers/asking";
import type { Marks } from "../model/schema";
import { DebuggerBody } from "./body";
import { gradvizIcon } from "./commands";
import { SessionModel, type Session } from "./model";

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
    this.body = new DebuggerBody((position) => this.model?.moveTo(position), (marks) => this.model?.mark(marks), (question) => this.ask(question));
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
    this.model?.changed.disconnect(this.refresh, this);
    this.model?.moved.disconnect(this.follow, this);
    this.model?.marked.disconnect(this.followMarks, this);
    this.model = model;
    model?.changed.connect(this.refresh, this);
    model?.moved.connect(this.follow, this);
    model?.marked.connect(this.followMarks, this);
    this.refresh();
  }

  private ask(question: Question): Promise<Reply> {
    return this.model?.line.ask(question) ?? Promise.resolve(KERNEL_GONE);
  }

  private follow(_: SessionModel, position: number): void {
    this.body.setPosition(position);
  }

  private followMarks(_: SessionModel, marks: Marks): void {
    this.body.setMarks(marks);
  }

  private refresh(): void {
    const session = this.model?.session ?? null;
    if (session !== null) this.debug(session);
    else if (this.model?.problem) this.body.complain(`The session of this notebook cannot be shown: ${this.model.problem}.`);
    else if (this.model === null) this.body.explain("Open a notebook: the gradients that it debugs are shown here.");
    else this.explainHowToStart();
  }

  private debug({ trace, position, marks }: Session): void {
    this.body.debug(trace, position);
    this.body.setMarks(marks);
  }

  private explainHowToStart(): void {
    const code = document.createElement("code");
    code.textContent = EXAMPLE;
    this.body.explain("This notebook has no session yet. Run ", code, " in a cell: its newest session is shown here.");
  }
}
