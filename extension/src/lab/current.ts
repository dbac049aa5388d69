// The debugger in use: that of the recording that is looked at, else that of the side panel. Commands and the status bar are
// about this one.

import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { WidgetTracker } from "@jupyterlab/apputils";
import type { ISignal } from "@lumino/signaling";
import { Signal } from "@lumino/signaling";

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
