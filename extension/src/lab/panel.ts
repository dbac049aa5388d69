// The side panel: the debugger over the active session of the current notebook, or words that say why there is none, below the
// names of all its sessions to choose from.

import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import { Signal } from "@lumino/signaling";
import { PanelLayout, Widget } from "@lumino/widgets";

import { KERNEL_GONE, type Ask } from "../model/answers/asking";
import { element } from "../views/elements/dom";
import { DebuggerBody } from "./body";
import { gradvizIcon } from "./icon";
import { SessionModel } from "./model";
import type { Displays } from "./output";

const EXAMPLE = "session = gradviz.debug(net, ys, workspace=ws)";

export class DebuggerPanel extends Widget {
  readonly body: DebuggerBody;
  /** Of each open notebook its sessions. */
  readonly models = new Map<NotebookPanel, SessionModel>();
  /** The sessions of the current notebook, from another one on its kernel where that hears it; null: there is none. */
  model: SessionModel | null = null;
  /** A session of some notebook has changed, moved or got other marks, or this panel was shown or hidden. */
  readonly changed = new Signal<this, void>(this);
  private readonly select = element("select", { "aria-label": "Recording" });
  private readonly mismatch = element("p", { role: "status" });
  private readonly chooser = new Widget({ node: element("div", { class: "gradviz-lab-Chooser" }, this.select) });

  constructor(private readonly notebooks: INotebookTracker, displays: Displays) {
    super();
    this.id = "gradviz-panel";
    this.addClass("gradviz-lab-Panel");
    this.title.icon = gradvizIcon;
    this.title.caption = "Gradients (gradviz)";
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", "Gradients of the current notebook");
    const ask: Ask = (question) => this.model?.line.ask(question) ?? Promise.resolve(KERNEL_GONE);
    this.body = new DebuggerBody({
      onPosition: (position) => this.model?.moveTo(position),
      onMarks: (marks) => this.model?.mark(marks),
      onGoOn: () => this.model?.goOn(),
      ask,
      hasWhole: true,
    });
    this.select.addEventListener("change", () => this.model?.choose(this.select.value));
    const layout = (this.layout = new PanelLayout());
    layout.addWidget(new Widget({ node: element("div", { class: "gradviz-lab-Mismatch" }, this.mismatch) }));
    layout.addWidget(this.chooser);
    layout.addWidget(this.body);
    // Every notebook gets its model at once, not when it is looked at: the sign of its kernel comes only once.
    notebooks.forEach((notebook) => void this.watch(notebook));
    notebooks.widgetAdded.connect((_, notebook) => void this.watch(notebook));
    notebooks.currentChanged.connect((_, notebook) => this.bind(notebook));
    displays.clicked.connect((_, { context, id }) => [...this.models.values()].find((model) => model.context === context)?.choose(id));
    this.bind(notebooks.currentWidget);
  }

  /** The notebook whose sessions these are. */
  get notebook(): NotebookPanel | null {
    return [...this.models].find(([, model]) => model === this.model)?.[0] ?? null;
  }

  /** What the current notebook's session is called; empty: there is none. */
  get label(): string {
    return this.model?.sessions.find(({ id }) => id === this.model?.session?.id)?.label ?? "";
  }

  protected override onAfterShow(): void {
    this.changed.emit();
  }

  protected override onAfterHide(): void {
    this.changed.emit();
  }

  /** The notebook's model; it is made at the first call. */
  private watch(notebook: NotebookPanel): SessionModel {
    const existing = this.models.get(notebook);
    if (existing !== undefined) return existing;
    const model = new SessionModel(notebook.sessionContext);
    this.models.set(notebook, model);
    model.changed.connect(() => {
      // The selector of the shortcuts: they are alive in notebooks that have a session.
      for (const [one, own] of this.models) one.node.dataset["gradvizSession"] = String(this.hearing(own).session !== null);
      this.bind(this.notebooks.currentWidget);
    });
    for (const signal of [model.changed, model.updated]) (signal as Signal<SessionModel, unknown>).connect(() => this.changed.emit());
    notebook.disposed.connect(() => {
      this.models.delete(notebook);
      model.dispose();
      this.bind(this.notebooks.currentWidget);
    });
    return model;
  }

  /** The model that hears the kernel of this one. */
  private hearing(model: SessionModel): SessionModel {
    return (model.isDeaf ? [...this.models.values()].find((other) => !other.isDeaf && other.kernelId === model.kernelId) : null) ?? model;
  }

  private bind(notebook: NotebookPanel | null): void {
    const model = notebook && this.hearing(this.watch(notebook));
    if (model !== null && model === this.model) return;
    if (this.model !== null) Signal.disconnectBetween(this.model, this);
    this.model = model;
    model?.listed.connect(this.list, this);
    model?.changed.connect(this.refresh, this);
    model?.updated.connect((_, change) => this.body.follow(change), this);
    this.refresh();
    this.changed.emit();
  }

  private list(): void {
    const sessions = this.model?.sessions ?? [];
    const active = this.model?.session?.id;
    this.mismatch.textContent = this.model?.mismatch ?? "";
    const options = sessions.map(({ id, label }) => element("option", { value: id, selected: id === active }, label));
    const hint = element("option", { value: "", disabled: true, selected: true }, "Choose a recording…");
    this.select.replaceChildren(...(sessions.some(({ id }) => id === active) ? [] : [hint]), ...options);
    this.chooser.setHidden(sessions.length === 0);
  }

  private refresh(): void {
    this.list();
    const session = this.model?.session ?? null;
    if (session !== null) {
      this.body.debug(session.trace, session.position);
      this.body.follow(session);
    } else if (this.model?.problem) this.body.complain(`The session of this notebook cannot be shown: ${this.model.problem}.`);
    else if (this.model === null) this.body.explain("Open a notebook: the gradients that it debugs are shown here.");
    else if (this.model.isDeaf) this.body.explain("JupyterLab lets one notebook hear a kernel, and the one that heard this kernel is closed: reload the page.");
    else if (this.model.sessions.length > 0) this.body.explain("Choose a recording above, or display one in a cell: ", element("code", {}, "session"), " as its last line. The one clicked or displayed last is shown here.");
    else this.body.explain("This notebook has no session yet. Run ", element("code", {}, EXAMPLE), " in a cell and ", element("code", {}, "session"), " as its last line: it is shown here.");
  }
}
