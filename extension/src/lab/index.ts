// The JupyterLab plugin of gradviz: the side panel, recordings as documents, sessions in outputs.

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette, WidgetTracker } from "@jupyterlab/apputils";
import { ABCWidgetFactory, DocumentWidget, type DocumentRegistry } from "@jupyterlab/docregistry";
import { INotebookTracker, type NotebookPanel } from "@jupyterlab/notebook";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";

import { parseTrace } from "../model/document/parse";
import { messageOf } from "../model/schema/reader";
import { DebuggerBody, DebuggerPanel, gradvizIcon } from "./panel";
import { addCommands } from "./commands";
import { renderSessions } from "./output";

const FILE_TYPE = "gradviz-trace";
export const FACTORY = "Gradients";

export type RecordingDocument = DocumentWidget<DebuggerBody>;

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
export function openRecordings(app: JupyterFrontEnd, opened: (document: RecordingDocument) => void): void {
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
