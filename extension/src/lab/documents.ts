// Recordings as documents: the debugger opens a *.gradviz.json file by a double click.

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { ABCWidgetFactory, DocumentWidget, type DocumentRegistry } from "@jupyterlab/docregistry";

import { parseTrace } from "../model/document/parse";
import { messageOf } from "../model/schema/reader";
import { DebuggerBody } from "./body";
import { gradvizIcon } from "./icon";

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
