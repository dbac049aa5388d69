// Commands about the line of code under the pointer, in a context menu, or else the one with the cursor.

import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { ICommandPalette } from "@jupyterlab/apputils";
import type { INotebookTracker } from "@jupyterlab/notebook";
import { EditorView } from "@codemirror/view";

import { addCommand, type Arguments } from "./commands";
import { codeAt, owners, type Owner } from "./editor";
import type { Lines } from "./lines";

/** Adds the commands; they are there for lines that operators of a session were called on. */
export function addLineCommands(app: JupyterFrontEnd, palette: ICommandPalette | null, notebooks: INotebookTracker, lines: Lines): void {
  function pointedAt({ in: place }: Arguments): { owner: Owner; line: number } | null {
    const isMenu = place === "context";
    const element = isMenu ? app.contextMenuHitTest((node) => node.classList.contains("cm-line")) : withCursor();
    const view = element && EditorView.findFromDOM(element);
    if (!element || !view) return null;
    const line = codeAt(view.state, isMenu ? view.posAtDOM(element) : view.state.selection.main.head);
    const owner = view.state.facet(owners)[0];
    return owner && line !== null ? { owner, line } : null;
  }

  function withCursor(): HTMLElement | undefined {
    const widget = app.shell.currentWidget;
    return widget !== null && widget === notebooks.currentWidget ? notebooks.activeCell?.node : widget?.node;
  }

  function add(id: string, label: string, caption: string, act: (owner: Owner, line: number) => void): void {
    const isEnabled = (args: Arguments): boolean => pointedAt(args) !== null;
    const isVisible = (args: Arguments): boolean => args.in !== "context" || isEnabled(args);
    addCommand(app, palette, { id, label, caption, isEnabled, isVisible, act: (args) => { const found = pointedAt(args); if (found) act(found.owner, found.line); } });
  }

  add("gradviz:run-to-line", "Run to This Line", "Go to the next event about an operator that this line called", (owner, line) => owner.run(line));
  add("gradviz:break-on-line", "Break on This Line", "Set a breakpoint on this line, or take it away", (owner, line) => owner.toggle(line));
  addCommand(app, palette, { id: "gradviz:show-line", label: "Show the Current Line", caption: "Scroll to the line that called the current operator", act: () => lines.reveal() });
}
