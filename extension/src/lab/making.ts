// What a kernel makes. Of its session a file beside the notebook, as a recording, a page or a notebook; and cells in the
// notebook, below the cell of the widget that asks, for the side panel and the commands below the active one. And copies of the
// lessons, as `gradviz lab` makes them: only Python knows where they lie.

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { InputDialog, Notification } from "@jupyterlab/apputils";
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { KernelMessage } from "@jupyterlab/services";

import { onReply, problemIn } from "../model/answers/asking";
import { messageOf } from "../model/schema/reader";
import { INSERT, type Insert } from "../views/shell/notices";
import type { DebuggerPanel } from "./panel";

export const FORMS = {
  recording: { words: "Recording", ending: ".gradviz.json" },
  page: { words: "Page", ending: ".html" },
  notebook: { words: "Notebook", ending: ".ipynb" },
};
export type Form = keyof typeof FORMS;

/** Asks for a name, and says how it went. */
export async function save({ model }: DebuggerPanel, form: Form): Promise<void> {
  const session = model?.session;
  if (!model || !session) return;
  const { words, ending } = FORMS[form];
  const stem = session.trace.name.replace(/[^\p{L}\p{N}._-]+/gu, "-") || "recording";
  const { value, isChecked } = await InputDialog.getText({
    title: `Save Gradients as ${words}`,
    label: "File, in the folder of the notebook",
    text: stem + ending,
    selectionRange: stem.length,
    okLabel: "Save",
    checkbox: { label: "Replace a file of this name" },
  });
  if (!value) return;
  onReply(model.line.ask({ question: "save", arguments: [form, value, isChecked ? 1 : 0], position: session.position }), (reply) => {
    if (!("blocks" in reply)) return Notification.error(problemIn(reply));
    return Notification.success(reply.blocks.map((block) => (block.kind === "paragraph" ? block.text : "")).join(" "), { autoClose: 5000 });
  });
}

type Cells = Parameters<NonNullable<NotebookPanel["content"]["model"]>["sharedModel"]["insertCells"]>[1];

/** Inserts cells, which are undone as one step, and makes the first of them the active one. */
function insertBelow({ content }: NotebookPanel, cells: unknown[], index: number): void {
  content.model?.sharedModel.insertCells(index + 1, cells as Cells);
  content.deselectAll();
  content.activeCellIndex = index + 1;
  content.mode = "command";
  content.activate();
  void content.scrollToItem(index + 1);
}

/** Inserts what views ask for. */
export function insertForViews(notebooks: INotebookTracker, panel: DebuggerPanel): void {
  document.addEventListener(INSERT, (event) => {
    const [view, { cells }] = [event.target as Node, (event as Insert).detail];
    notebooks.forEach((notebook) => {
      const isFromPanel = notebook === panel.notebook && panel.node.contains(view);
      const index = isFromPanel ? notebook.content.activeCellIndex : notebook.content.widgets.findIndex(({ node }) => node.contains(view));
      if (index < 0) return;
      insertBelow(notebook, cells, index);
      event.preventDefault();
    });
  });
}

/** Has the kernel make cells of a part of its session, and inserts them below the active cell. */
export function insertCells({ model, notebook }: DebuggerPanel, of: string): void {
  const session = model?.session;
  if (!session || !notebook) return;
  onReply(model.line.ask({ question: "cells", arguments: [of], position: session.position }), (reply) => {
    if ("blocks" in reply) insertBelow(notebook, reply.data?.["cells"] as unknown[], notebook.content.activeCellIndex);
    else Notification.error(problemIn(reply), { autoClose: 5000 });
  });
}

const COPY = `
from pathlib import Path
from gradviz.cli.lab import DEFAULT_FOLDER, FIRST_DEMO, copy_demos
copy_demos(Path(DEFAULT_FOLDER))
print(Path(DEFAULT_FOLDER, FIRST_DEMO).as_posix(), Path(DEFAULT_FOLDER).absolute(), sep="\\n", end="")
`;

/** Copies the lessons into a folder of the server, where those that are there stay, and opens the first one. */
export async function openLessons(app: JupyterFrontEnd, folder: string): Promise<void> {
  const opening = open(app, folder).then(() => null);
  Notification.promise(opening, {
    pending: { message: "Copying the lessons about gradients …" },
    success: { message: () => "The lessons are there.", options: { autoClose: 2000 } },
    error: { message: (reason) => `The lessons cannot be opened: ${messageOf(reason)}` },
  });
  await opening.catch(() => undefined);
}

async function open(app: JupyterFrontEnd, folder: string): Promise<void> {
  const below = (path: string): string => (folder ? `${folder}/${path}` : path);
  const [first = "", copies = ""] = (await printed(app, below("gradviz lessons"), COPY)).split("\n");
  const { contents } = app.serviceManager;
  const isThere = await contents.get(below(first), { content: false }).then(() => true, () => false);
  if (!isThere) throw new Error(`they lie in ${copies}, where this server shows no files. Open them from there.`);
  await app.commands.execute("docmanager:open", { path: below(first) });
}

/** What Python code prints in a kernel that is started for it; `path` says in which folder. */
async function printed({ serviceManager }: JupyterFrontEnd, path: string, code: string): Promise<string> {
  await serviceManager.kernelspecs.ready;
  const name = serviceManager.kernelspecs.specs?.default ?? "python3";
  const session = await serviceManager.sessions.startNew({ path, name: path, type: "console", kernel: { name } });
  try {
    const future = session.kernel?.requestExecute({ code, store_history: false, allow_stdin: false });
    if (!future) throw new Error("no kernel was started.");
    let text = "";
    future.onIOPub = ({ header, content }) => {
      if (header.msg_type === "stream" && (content as KernelMessage.IStreamMsg["content"]).name === "stdout") text += (content as KernelMessage.IStreamMsg["content"]).text;
    };
    const { content } = await future.done;
    if (content.status !== "ok") throw new Error(content.status === "error" ? `the kernel ${name} says ${content.ename}: ${content.evalue}.` : "the kernel was stopped.");
    return text;
  } finally {
    await session.shutdown();
  }
}
