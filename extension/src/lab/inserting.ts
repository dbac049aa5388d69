// Inserts cells that a kernel makes of a session into its notebook: below the cell of the widget that asks, for the side panel
// and the commands below the active one.

import { Notification } from "@jupyterlab/apputils";
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";

import { problemIn, type Reply } from "../model/answers/asking";
import { INSERT, type Insert } from "../views/shell/notices";
import type { DebuggerPanel } from "./panel";

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
export async function insertCells({ model, notebook }: DebuggerPanel, of: string): Promise<void> {
  const session = model?.session;
  if (!session || !notebook) return;
  const take = (reply: Reply): void => {
    if ("blocks" in reply) return insertBelow(notebook, reply.data?.["cells"] as unknown[], notebook.content.activeCellIndex);
    Notification.error(problemIn(reply), { autoClose: 5000 });
    void reply.late?.then(take);
  };
  take(await model.line.ask({ question: "cells", arguments: [of], position: session.position }));
}
