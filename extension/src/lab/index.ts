// The JupyterLab plugin of gradviz: the side panel, recordings as documents, sessions in outputs, and commands, moves over the
// debugger that is in use, for the palette, shortcuts and other extensions.

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette, InputDialog, Notification, WidgetTracker } from "@jupyterlab/apputils";
import { ABCWidgetFactory, DocumentWidget, type DocumentRegistry } from "@jupyterlab/docregistry";
import { INotebookTracker, type NotebookPanel } from "@jupyterlab/notebook";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";

import { parseTrace } from "../model/document/parse";
import { messageOf } from "../model/schema/reader";
import type { Verbs } from "../views/elements/navigation";
import { DebuggerBody, DebuggerPanel, gradvizIcon } from "./panel";
import { renderSessions } from "./output";

const FILE_TYPE = "gradviz-trace";
const FACTORY = "Gradients";

type RecordingDocument = DocumentWidget<DebuggerBody>;

class RecordingFactory extends ABCWidgetFactory<RecordingDocument> {
  protected override createNewWidget(context: DocumentRegistry.Context): RecordingDocument {
    const content = new DebuggerBody();
    const show = (): void => {
      try {
        content.debug(parseTrace(context.model.toString()), 0);
      } catch (error) {
        content.complain(`${context.path} cannot be shown: ${messageOf(error)}.`);
      }
    };
    void context.ready.then(() => {
      if (content.isDisposed) return;
      show();
      context.model.contentChanged.connect(show);
      content.disposed.connect(() => context.model.contentChanged.disconnect(show));
    });
    return new DocumentWidget({ content, context });
  }
}

/** Makes the debugger what opens a recording by a double click; `opened` hears of each one. */
function openRecordings(app: JupyterFrontEnd, opened: (document: RecordingDocument) => void): void {
  app.docRegistry.addFileType({
    name: FILE_TYPE,
    displayName: "Gradient Recording",
    extensions: [".gradviz.json"],
    mimeTypes: ["application/json"],
    fileFormat: "text",
    contentType: "file",
    icon: gradvizIcon,
  });
  const factory = new RecordingFactory({
    name: FACTORY,
    modelName: "text",
    fileTypes: [FILE_TYPE],
    defaultFor: [FILE_TYPE],
    readOnly: true,
  });
  factory.widgetCreated.connect((_, document) => {
    document.title.icon = gradvizIcon;
    opened(document);
  });
  app.docRegistry.addWidgetFactory(factory);
}

const CATEGORY = "Gradients";

const SHOW_PANEL = "gradviz:show-panel";
const RUN_TO = "gradviz:run-to";

const MOVES: { id: string; label: string; act(verbs: Verbs): void }[] = [
  { id: "gradviz:step", label: "Step", act: (verbs) => verbs.step() },
  { id: "gradviz:back", label: "Step Back", act: (verbs) => verbs.back() },
  { id: "gradviz:over", label: "Step Over", act: (verbs) => verbs.over() },
  { id: "gradviz:back-over", label: "Step Back Over", act: (verbs) => verbs.backOver() },
  { id: "gradviz:into", label: "Step Into", act: (verbs) => verbs.into() },
  { id: "gradviz:out", label: "Step Out", act: (verbs) => verbs.out() },
  { id: "gradviz:continue", label: "Continue", act: (verbs) => verbs.continue() },
  { id: "gradviz:reverse-continue", label: "Reverse Continue", act: (verbs) => verbs.reverseContinue() },
  { id: "gradviz:restart", label: "Restart", act: (verbs) => verbs.restart() },
  { id: "gradviz:finish", label: "Finish", act: (verbs) => verbs.finish() },
];

/** Adds the commands; `current` gives the debugger in use, `showPanel` brings up the side panel. */
function addCommands(
  app: JupyterFrontEnd,
  palette: ICommandPalette | null,
  current: () => DebuggerBody | null,
  showPanel: () => void,
): void {
  const { commands } = app;
  const isEnabled = (): boolean => current()?.view != null;
  for (const { id, label, act } of MOVES) {
    commands.addCommand(id, { label, caption: `${label} in the recording of the gradients`, isEnabled, execute: () => { const verbs = current()?.view?.verbs; if (verbs) act(verbs); } });
  }
  commands.addCommand(RUN_TO, {
    label: "Run To…",
    caption: "Go to the next event of a blob, an operator or a kind of event",
    isEnabled,
    execute: () => askAndRunTo(current()),
  });
  commands.addCommand(SHOW_PANEL, { label: "Show Gradients", caption: "The gradients of the current notebook", icon: gradvizIcon, execute: showPanel });
  for (const command of [SHOW_PANEL, ...MOVES.map((move) => move.id), RUN_TO]) {
    palette?.addItem({ command, category: CATEGORY });
  }
}

async function askAndRunTo(body: DebuggerBody | null): Promise<void> {
  if (!body?.view) return;
  const label = "A blob (a, a@0), an operator (#2, FC), an event (Accumulated) or a nested net (2.loop_net, iteration 3)";
  const { value } = await InputDialog.getText({ title: "Run to", label });
  const problem = value ? body.view?.verbs.runTo(value) : null;
  if (problem) Notification.info(problem, { autoClose: 5000 });
}

const debuggers: JupyterFrontEndPlugin<void> = {
  id: "gradviz:debugger",
  description: "The side panel for the gradients of the current notebook, and the viewer of *.gradviz.json files.",
  autoStart: true,
  optional: [INotebookTracker, ICommandPalette, ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    notebooks: INotebookTracker | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
  ) => {
    const documents = new WidgetTracker<RecordingDocument>({ namespace: "gradviz" });
    openRecordings(app, (document) => void documents.add(document));
    void restorer?.restore(documents, {
      command: "docmanager:open",
      args: (document) => ({ path: document.context.path, factory: FACTORY }),
      name: (document) => document.context.path,
    });
    const panel = notebooks && new DebuggerPanel(notebooks);
    if (panel !== null) {
      app.shell.add(panel, "right", { rank: 900, type: "Gradients" });
      restorer?.add(panel, panel.id);
    }
    const current = (): DebuggerBody | null => {
      const document = documents.currentWidget;
      return document !== null && document === app.shell.currentWidget ? document.content : (panel?.body ?? null);
    };
    addCommands(app, palette, current, () => panel && app.shell.activateById(panel.id));
  },
};

const outputs: JupyterFrontEndPlugin<void> = {
  id: "gradviz:outputs",
  description: "Sessions in outputs: the widget, or its picture where there is no widget.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [INotebookTracker],
  activate: (_: JupyterFrontEnd, rendermime: IRenderMimeRegistry, notebooks: INotebookTracker | null) => {
    renderSessions(rendermime);
    const prepare = (notebook: NotebookPanel): void => renderSessions(notebook.content.rendermime, notebook.sessionContext);
    notebooks?.forEach(prepare);
    notebooks?.widgetAdded.connect((_, notebook) => prepare(notebook));
  },
};

export default [debuggers, outputs];
