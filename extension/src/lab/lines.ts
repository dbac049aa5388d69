// The lines of code in the editors of JupyterLab: those that the current event is about are marked, in the cells that the kernel
// of a session ran and in open files; breakpoints and "run to" find their lines there.

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { Notification } from "@jupyterlab/apputils";
import type { ICodeCellModel } from "@jupyterlab/cells";
import type { CodeEditor } from "@jupyterlab/codeeditor";
import { EditorExtensionRegistry, type IEditorExtensionRegistry } from "@jupyterlab/codemirror";
import { DocumentWidget } from "@jupyterlab/docregistry";
import { NotebookActions } from "@jupyterlab/notebook";
import type { Signal } from "@lumino/signaling";
import type { Widget } from "@lumino/widgets";

import { codesAt, placeOf } from "../model/filters/code";
import { toggledOn } from "../model/filters/marks";
import { currentEvent } from "../model/recording/cursor";
import { allLines, linesNamed, memoized } from "../model/recording/lookup";
import { runToLine } from "../views/elements/navigation";
import { showsLines, type Opened, type Owner, type Shown } from "./editor";
import type { SessionModel } from "./model";
import type { Displays } from "./output";
import type { DebuggerPanel } from "./panel";

/** The text of every line that operators were called on, by files and by numbers. */
const filesOf = memoized((trace) => {
  const files = new Map<string, Map<number, string>>();
  for (const { code } of allLines(trace)) {
    if (!code?.text) continue;
    const lines = files.get(code.file) ?? new Map<number, string>();
    files.set(code.file, lines.set(code.number, code.text));
  }
  return files;
});

/** What an editor holds, as lines of code name it: "cell 4", or a file without its folders; and the sessions that may name it. */
interface Source {
  file: string;
  model: SessionModel;
}

const placeIn = ({ file }: Source, number: number): string => placeOf({ file, number });

export class Lines {
  private readonly editors = new Set<Opened & { text: CodeEditor.IModel }>();
  private sources = new Map<unknown, Source>();

  constructor(
    private readonly shell: JupyterFrontEnd.IShell,
    private readonly panel: DebuggerPanel,
    private readonly displays: Displays,
  ) {
    // Cells are found by their execution counts; those that run have none.
    for (const signal of [panel.changed, displays.changed, NotebookActions.executed, NotebookActions.executionScheduled, shell.currentChanged]) {
      (signal as Signal<unknown, unknown> | undefined)?.connect(() => this.update());
    }
  }

  /** Lets all editors show lines, those that are to come too. */
  addTo(registry: IEditorExtensionRegistry): void {
    registry.addExtension({
      name: "gradviz:lines",
      factory: ({ model }) => {
        this.sources = this.findSources();
        return EditorExtensionRegistry.createImmutableExtension(showsLines(this.ownerOf(model)));
      },
    });
    // Links to lines, in widgets of outputs and in the panel.
    document.addEventListener("click", ({ target }) => {
      const link = target instanceof Element ? target.closest(".gv-called-on .gv-link") : null;
      if (link) void this.reveal(link.textContent ?? "");
    });
  }

  /** Brings a line, such as "cell 4:17", or else that of the current operator into sight: for who asks, since stepping scrolls nothing. */
  async reveal(place?: string): Promise<void> {
    const { model } = this.panel;
    const codes = model?.session ? (place === undefined ? codesAt(model.session.trace, model.session.position) : allLines(model.session.trace).map(({ code }) => code)) : [];
    const code = codes.find((one) => one && (place === undefined || placeOf(one) === place));
    const text = [...this.sources].find(([, source]) => source.file === code?.file && source.model === model)?.[0];
    for (const { content } of this.panel.models.keys()) {
      const cell = content.widgets.findIndex((one) => one.model === text);
      if (cell >= 0) await content.scrollToItem(cell);
    }
    if (code && [...this.editors].some((editor) => editor.text === text && editor.reveal(code.number))) return;
    Notification.info(code ? `${placeOf(code)} is in no open editor, or reads otherwise by now.` : "No line of code is known of the current operator.", { autoClose: 5000 });
  }

  private update(): void {
    this.sources = this.findSources();
    for (const { update } of this.editors) update();
  }

  private ownerOf(text: CodeEditor.IModel): Owner {
    return {
      shown: () => this.shownIn(this.sources.get(text)),
      open: (opened) => {
        const editor = { text, ...opened };
        this.editors.add(editor);
        return () => void this.editors.delete(editor);
      },
      run: (line) => this.run(this.sources.get(text), line),
      toggle: (line) => this.toggle(this.sources.get(text), line),
    };
  }

  /** What the editors hold that a session can name. */
  private findSources(): Map<unknown, Source> {
    const sources = new Map<unknown, Source>();
    const { model } = this.panel;
    for (const widget of this.shell.widgets("main") as Iterable<Widget>) {
      if (model?.session && widget instanceof DocumentWidget) sources.set(widget.context.model, { file: widget.context.path.replace(/^.*\//s, ""), model });
    }
    for (const [notebook, own] of this.panel.models) {
      if (!own.session) continue;
      for (const cell of notebook.content.model?.cells ?? []) {
        const count = cell.type === "code" ? (cell as ICodeCellModel).executionCount : null;
        if (count !== null) sources.set(cell, { file: `cell ${count}`, model: own });
      }
    }
    return sources;
  }

  private shownIn(source: Source | undefined): Shown | null {
    const session = source?.model.session;
    const isSeen = session && (this.displays.has(session.id) || (this.panel.isVisible && this.panel.model === source.model));
    const lines = isSeen && filesOf(session.trace).get(source.file);
    if (!lines) return null;
    const { trace, position, marks } = session;
    const codes = codesAt(trace, position);
    const numbers = codes.filter(({ file }) => file === source.file).map(({ number }) => number);
    const isHere = codes[0]?.file === source.file;
    return {
      isCell: source.file.startsWith("cell "),
      lines,
      current: isHere ? (numbers[0] ?? null) : null,
      others: isHere ? numbers.slice(1) : numbers,
      isBackward: linesNamed(trace, currentEvent(trace, position)?.lines ?? []).some(({ role }) => role !== "forward"),
      breakpoints: [...lines.keys()].filter((number) => marks.breakpoints.some(({ on }) => on === placeIn(source, number))),
    };
  }

  private run(source: Source | undefined, number: number): void {
    const verbs = this.panel.body.view?.verbs;
    if (!source || source.model !== this.panel.model || !verbs) return;
    const problem = runToLine(verbs, placeIn(source, number));
    if (problem) Notification.info(problem, { autoClose: 5000 });
  }

  private toggle(source: Source | undefined, number: number): void {
    const marks = source?.model.session?.marks;
    if (!source || !marks) return;
    source.model.mark({ ...marks, breakpoints: toggledOn(placeIn(source, number), marks.breakpoints) });
  }
}
