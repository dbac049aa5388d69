// The JupyterLab plugin of gradviz: sessions in outputs, the side panel, recordings as documents, the marks in the code, and what
// leads to them.

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette, WidgetTracker } from "@jupyterlab/apputils";
import { IEditorExtensionRegistry } from "@jupyterlab/codemirror";
import { ILauncher } from "@jupyterlab/launcher";
import { INotebookTracker, type NotebookPanel } from "@jupyterlab/notebook";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { IStatusBar } from "@jupyterlab/statusbar";

import { addCommands, addLineCommands, CATEGORY, LESSONS, SHOW_PANEL } from "./commands";
import { addStatus, Current } from "./current";
import { FACTORY, openRecordings, type RecordingDocument } from "./documents";
import { Displays, renderSessions } from "./output";
import { Lines } from "./lines";
import { insertForViews } from "./making";
import { DebuggerPanel } from "./panel";

const plugin: JupyterFrontEndPlugin<void> = {
  id: "gradviz:debugger",
  description: "Sessions in outputs, the side panel for the gradients of the current notebook, and the viewer of *.gradviz.json files.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [INotebookTracker, ICommandPalette, ILayoutRestorer, ILauncher, IStatusBar, IEditorExtensionRegistry],
  activate: (
    app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    notebooks: INotebookTracker | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    launcher: ILauncher | null,
    bar: IStatusBar | null,
    editors: IEditorExtensionRegistry | null,
  ) => {
    const displays = new Displays();
    renderSessions(rendermime, displays);
    const prepare = (notebook: NotebookPanel): void => renderSessions(notebook.content.rendermime, displays, notebook.sessionContext);
    notebooks?.forEach(prepare);
    notebooks?.widgetAdded.connect((_, notebook) => prepare(notebook));
    const documents = new WidgetTracker<RecordingDocument>({ namespace: "gradviz" });
    openRecordings(app, (document) => void documents.add(document));
    void restorer?.restore(documents, {
      command: "docmanager:open",
      args: (document) => ({ path: document.context.path, factory: FACTORY }),
      name: (document) => document.context.path,
    });
    const panel = notebooks && new DebuggerPanel(notebooks, displays);
    const lines = panel && editors && new Lines(app.shell, panel, displays);
    if (notebooks && panel) {
      app.shell.add(panel, "right", { rank: 900, type: "Gradients" });
      restorer?.add(panel, panel.id);
      insertForViews(notebooks, panel);
    }
    const current = new Current(app.shell, documents, panel);
    addCommands(app, palette, current);
    if (notebooks && editors && lines) {
      lines.addTo(editors);
      addLineCommands(app, palette, notebooks, lines);
    }
    launcher?.add({ command: LESSONS, category: CATEGORY, args: { in: "tile" } });
    if (bar) addStatus(bar, current, () => void app.commands.execute(SHOW_PANEL));
  },
};

export default plugin;
