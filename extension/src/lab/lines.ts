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
import { withBreakpoint } from "../model/filters/marks";
import { currentEvent } from "../model/recording/cursor";
import { allLines, linesNamed } from "../model/recording/lines";
import { memoized } from "../model/recording/lookup";
import { showsLines, type Owner, type Shown } from "./editor";
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

/** The number of the line of a file that a breakpoint is on; NaN: it is on something else. */
function lineOf(on: string, file: string): number {
  return on.startsWith(`${file}:`) ? Number(/^\d+(?=$| if )/.exec(on.slice(file.length + 1))?.[0] ?? NaN) : NaN;
}

export class Lines {
  private readonly updates = new Set<() => void>();
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
  }

  private update(): void {
    this.sources = this.findSources();
    for (const update of this.updates) update();
  }

  private ownerOf(editor: CodeEditor.IModel): Owner {
    return {
      shown: () => this.shownIn(this.sources.get(editor)),
      open: (update) => {
        this.updates.add(update);
        return () => this.updates.delete(update);
      },
      run: (line) => this.run(this.sources.get(editor), line),
      toggle: (line) => this.toggle(this.sources.get(editor), line),
    };
  }

  /** What the editors hold that a session can name. */
  private findSources(): Map<unknown, Source> {
    const sources = new Map<unknown, Source>();
    const { model } = this.panel;
    if (model?.session) for (const [path, document] of this.files()) sources.set(document.context.model, { file: path.slice(path.lastIndexOf("/") + 1), model });
    for (const [notebook, own] of this.panel.models) {
      if (!own.session) continue;
      for (const cell of notebook.content.model?.cells ?? []) {
        const count = cell.type === "code" ? (cell as ICodeCellModel).executionCount : null;
        if (count !== null) sources.set(cell, { file: `cell ${count}`, model: own });
      }
    }
    return sources;
  }

  private *files(): Iterable<[string, DocumentWidget]> {
    for (const widget of this.shell.widgets("main") as Iterable<Widget>) if (widget instanceof DocumentWidget) yield [widget.context.path, widget];
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
      lines,
      current: isHere ? (numbers[0] ?? null) : null,
      others: isHere ? numbers.slice(1) : numbers,
      isBackward: linesNamed(trace, currentEvent(trace, position)?.lines ?? []).some(({ role }) => role !== "forward"),
      breakpoints: marks.breakpoints.map(({ on }) => lineOf(on, source.file)).filter((line) => !Number.isNaN(line)),
    };
  }

  private run(source: Source | undefined, number: number): void {
    const problem = source && source.model === this.panel.model && this.panel.runTo(placeOf({ file: source.file, number, text: "" }));
    if (problem) Notification.info(problem, { autoClose: 5000 });
  }

  private toggle(source: Source | undefined, number: number): void {
    const marks = source?.model.session?.marks;
    if (!source || !marks) return;
    const others = marks.breakpoints.filter(({ on }) => lineOf(on, source.file) !== number);
    const isSet = others.length < marks.breakpoints.length;
    source.model.mark({ ...marks, breakpoints: isSet ? others : withBreakpoint(others, placeOf({ file: source.file, number, text: "" })) });
  }
}
