// The commands: moves over the debugger in use, for menus, palette, shortcuts and other extensions, and what leads to it or out
// of it. Menus, toolbar and shortcuts stand in schema/debugger.json.

import { EditorView } from "@codemirror/view";
import type { JupyterFrontEnd } from "@jupyterlab/application";
import { InputDialog, Notification, type ICommandPalette } from "@jupyterlab/apputils";
import type { INotebookTracker } from "@jupyterlab/notebook";

import type { Verbs } from "../views/elements/navigation";
import type { Current } from "./current";
import { gradvizIcon } from "./icon";
import { codeAt, owners, type Owner } from "./editor";
import type { Lines } from "./lines";
import { FORMS, insertCells, openLessons, save, type Form } from "./making";

export const CATEGORY = "Gradients";
export const SHOW_PANEL = "gradviz:show-panel";
export const LESSONS = "gradviz:lessons";
const RUN_TO = "gradviz:run-to";

/** Of what cells are made; see gradviz/notebook/inserting.py. */
const PARTS = { operator: "This Operator", group: "Its Group", pass: "the Whole Pass" };

const MOVES: Record<Exclude<keyof Verbs, "runTo" | "previousIteration" | "nextIteration">, [id: string, label: string]> = {
  step: ["gradviz:step", "Step"],
  back: ["gradviz:back", "Step Back"],
  over: ["gradviz:over", "Step Over"],
  backOver: ["gradviz:back-over", "Step Back Over"],
  into: ["gradviz:into", "Step Into"],
  out: ["gradviz:out", "Step Out"],
  continue: ["gradviz:continue", "Continue"],
  reverseContinue: ["gradviz:reverse-continue", "Reverse Continue"],
  goOn: ["gradviz:continue-cell", "Continue Cell"],
  restart: ["gradviz:restart", "Restart"],
  finish: ["gradviz:finish", "Finish"],
};

type Options = Omit<Parameters<JupyterFrontEnd["commands"]["addCommand"]>[1], "label">;
/** "in": where the command stands, "menu", "tile" or "context"; "cwd": the folder of the launcher. */
type Arguments = Parameters<Options["execute"]>[0];

/** Adds a command and its entry in the palette. Outside of our own menus the label has a prefix. */
function addCommand({ commands }: JupyterFrontEnd, palette: ICommandPalette | null, id: string, label: string, options: Options): void {
  const hasPrefix = (args: Arguments): boolean => args["in"] === undefined || args["in"] === "context";
  commands.addCommand(id, { label: (args) => (hasPrefix(args) ? `${CATEGORY}: ${label}` : label), ...options });
  palette?.addItem({ command: id, category: CATEGORY });
}

/** Adds the commands over the debugger in use. */
export function addCommands(app: JupyterFrontEnd, palette: ICommandPalette | null, current: Current): void {
  const { panel } = current;
  const add = (id: string, label: string, options: Options): void => addCommand(app, palette, id, label, options);
  const isOn = (): boolean => current.body?.view != null;
  const waits = (): boolean => current.body?.view?.waits ?? false;
  const hasKernel = (): boolean => current.hasKernel;
  add(SHOW_PANEL, "Show Panel", { caption: "Show the gradients of the current notebook", icon: gradvizIcon, execute: () => panel && app.shell.activateById(panel.id) });
  for (const [verb, [id, label]] of Object.entries(MOVES)) {
    const execute = (): void => current.body?.view?.verbs[verb as keyof typeof MOVES]();
    add(id, label, { caption: `${label} in the recording of the gradients`, isEnabled: verb === "goOn" ? waits : isOn, execute });
  }
  add(RUN_TO, "Run To…", { caption: "Go to the next event of a blob, an operator or a kind of event", isEnabled: isOn, execute: () => askAndRunTo(current) });
  for (const [form, { words }] of Object.entries(FORMS)) {
    add(`gradviz:save-${form}`, `Save as ${words}…`, { caption: `Save the session in use as a ${form}, beside its notebook`, isEnabled: hasKernel, execute: () => panel && save(panel, form as Form) });
  }
  for (const [of, words] of Object.entries(PARTS)) {
    add(`gradviz:insert-${of}`, `Insert ${words} as Cells`, { caption: "Insert cells below the active one that run this again, step by step", isEnabled: hasKernel, execute: () => panel && insertCells(panel, of) });
  }
  add(LESSONS, "Lessons", { caption: "Copy the lessons about gradients into this folder, and open the first one", icon: gradvizIcon, execute: ({ cwd }) => openLessons(app, String(cwd ?? "")) });
}

async function askAndRunTo({ body }: Current): Promise<void> {
  if (!body?.view) return;
  const label = "A blob (a, a@0), an operator (#2, FC), an event (Accumulated) or a nested net (2.loop_net, iteration 3)";
  const { value } = await InputDialog.getText({ title: "Run to", label });
  const problem = value ? body.view?.verbs.runTo(value) : null;
  if (problem) Notification.info(problem, { autoClose: 5000 });
}

/** Adds the commands about the line of code under the pointer, in a context menu, or else the one with the cursor. */
export function addLineCommands(app: JupyterFrontEnd, palette: ICommandPalette | null, notebooks: INotebookTracker, lines: Lines): void {
  function pointedAt(args: Arguments): { owner: Owner; line: number } | null {
    const isMenu = args["in"] === "context";
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
    const isVisible = (args: Arguments): boolean => args["in"] !== "context" || isEnabled(args);
    const execute = (args: Arguments): void => {
      const place = pointedAt(args);
      if (place) act(place.owner, place.line);
    };
    addCommand(app, palette, id, label, { caption, isEnabled, isVisible, execute });
  }

  add("gradviz:run-to-line", "Run to This Line", "Go to the next event about an operator that this line called", (owner, line) => owner.run(line));
  add("gradviz:break-on-line", "Break on This Line", "Set a breakpoint on this line, or take it away", (owner, line) => owner.toggle(line));
  addCommand(app, palette, "gradviz:show-line", "Show the Current Line", { caption: "Scroll to the line that called the current operator", execute: () => lines.reveal() });
}
