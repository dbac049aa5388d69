// The debugger in use: that of the recording that is looked at, else that of the side panel. Commands are about this one, and
// the status bar says where it stands.

import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { WidgetTracker } from "@jupyterlab/apputils";
import type { IStatusBar } from "@jupyterlab/statusbar";
import { Signal, type ISignal } from "@lumino/signaling";
import { Widget } from "@lumino/widgets";

import { button } from "../views/elements/dom";
import type { DebuggerBody } from "./body";
import type { RecordingDocument } from "./documents";
import type { DebuggerPanel } from "./panel";

export class Current {
  /** Another one is in use, or it has moved. */
  readonly changed = new Signal<this, void>(this);

  constructor(
    private readonly shell: JupyterFrontEnd.IShell,
    private readonly documents: WidgetTracker<RecordingDocument>,
    readonly panel: DebuggerPanel | null,
  ) {
    const tell = (): void => this.changed.emit();
    (shell.currentChanged as ISignal<unknown, unknown> | undefined)?.connect(tell);
    panel?.body.changed.connect(tell);
    documents.widgetAdded.connect((_, { content }) => void content.changed.connect(tell));
  }

  /** Null while there is none, or the session that was chosen is on its way. */
  get body(): DebuggerBody | null {
    const { document } = this;
    if (document) return document.content;
    return this.panel === null || this.panel.model?.isWaiting ? null : this.panel.body;
  }

  get label(): string {
    return this.document?.title.label ?? this.panel?.label ?? "";
  }

  /** Whether a kernel has its session. */
  get hasKernel(): boolean {
    return this.document === null && this.panel?.model?.session != null;
  }

  private get document(): RecordingDocument | null {
    const document = this.documents.currentWidget;
    return document === this.shell.currentWidget ? document : null;
  }
}

/** Adds the place in the recording, which is there while there is one; a click calls `show`. */
export function addStatus(bar: IStatusBar, current: Current, show: () => void): void {
  const text = button(show, { class: "gradviz-lab-Status" });
  const item = new Widget();
  item.node.append(text);
  bar.registerStatusItem("gradviz:position", { item, align: "left", rank: 20, isActive: () => current.body?.view != null, activeStateChanged: current.changed });
  current.changed.connect(() => {
    const view = current.body?.view;
    if (!view) return;
    text.textContent = `∇ ${view.position} / ${view.length}`;
    text.title = `Gradients of ${current.label}: event ${view.position} of ${view.length}`;
  });
}
