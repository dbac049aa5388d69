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
import { openLessons } from "./lessons";
import type { Lines } from "./lines";
import { FORMS, insertCells, save, type Form } from "./making";

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

interface Command {
  id: string;
  /** Behind the prefix that it has outside of our own menus. */
  label: string;
  caption: string;
  isEnabled?: (args: Arguments) => boolean;
  isVisible?: (args: Arguments) => boolean;
  act: (args: Arguments) => unknown;
}

/** `in`: where the command stands; `cwd`: the folder of the launcher. */
type Arguments = { in?: "menu" | "tile" | "context"; cwd?: string };

/** Adds a command and its entry in the palette. */
function addCommand({ commands }: JupyterFrontEnd, palette: ICommandPalette | null, { id, label, caption, isEnabled, isVisible, act }: Command): void {
  commands.addCommand(id, {
    label: (args) => ((args as Arguments).in === undefined || (args as Arguments).in === "context" ? `${CATEGORY}: ${label}` : label),
    caption,
    ...([SHOW_PANEL, LESSONS].includes(id) && { icon: gradvizIcon }),
    ...(isEnabled && { isEnabled: (args) => isEnabled(args as Arguments) }),
    ...(isVisible && { isVisible: (args) => isVisible(args as Arguments) }),
    execute: (args) => act(args as Arguments),
  });
  palette?.addItem({ command: id, category: CATEGORY });
}

/** Adds the commands over the debugger in use. */
export function addCommands(app: JupyterFrontEnd, palette: ICommandPalette | null, current: Current): void {
  const { panel } = current;
  const add = (command: Command): void => addCommand(app, palette, command);
  const isOn = (): boolean => current.body?.view != null;
  const waits = (): boolean => current.body?.view?.waits ?? false;
  add({ id: SHOW_PANEL, label: "Show Panel", caption: "Show the gradients of the current notebook", act: () => panel && app.shell.activateById(panel.id) });
  for (const [verb, [id, label]] of Object.entries(MOVES)) {
    const act = (): void => current.body?.view?.verbs[verb as keyof typeof MOVES]();
    add({ id, label, caption: `${label} in the recording of the gradients`, isEnabled: verb === "goOn" ? waits : isOn, act });
  }
  add({ id: RUN_TO, label: "Run To…", caption: "Go to the next event of a blob, an operator or a kind of event", isEnabled: isOn, act: () => askAndRunTo(current) });
  for (const [form, { words }] of Object.entries(FORMS)) {
    add({ id: `gradviz:save-${form}`, label: `Save as ${words}…`, caption: `Save the session in use as a ${form}, beside its notebook`, isEnabled: () => current.hasKernel, act: () => panel && save(panel, form as Form) });
  }
  for (const [of, words] of Object.entries(PARTS)) {
    add({ id: `gradviz:insert-${of}`, label: `Insert ${words} as Cells`, caption: "Insert cells below the active one that run this again, step by step", isEnabled: () => current.hasKernel, act: () => panel && insertCells(panel, of) });
  }
  add({ id: LESSONS, label: "Lessons", caption: "Copy the lessons about gradients into this folder, and open the first one", act: ({ cwd }) => openLessons(app, cwd ?? "") });
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
    const command = (args: Arguments): void => {
      const place = pointedAt(args);
      if (place) act(place.owner, place.line);
    };
    addCommand(app, palette, { id, label, caption, isEnabled, isVisible, act: command });
  }

  add("gradviz:run-to-line", "Run to This Line", "Go to the next event about an operator that this line called", (owner, line) => owner.run(line));
  add("gradviz:break-on-line", "Break on This Line", "Set a breakpoint on this line, or take it away", (owner, line) => owner.toggle(line));
  addCommand(app, palette, { id: "gradviz:show-line", label: "Show the Current Line", caption: "Scroll to the line that called the current operator", act: () => lines.reveal() });
}
