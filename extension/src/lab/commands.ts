// The commands: moves over the debugger in use, for menus, palette, shortcuts and other extensions, and what leads to it or out
// of it. Menus, toolbar and shortcuts stand in schema/debugger.json.

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { InputDialog, Notification, type ICommandPalette } from "@jupyterlab/apputils";

import type { Verbs } from "../views/elements/navigation";
import type { DebuggerView } from "../views/shell/debugger";
import type { Current } from "./current";
import { gradvizIcon } from "./icon";
import { insertCells } from "./inserting";
import { openLessons } from "./lessons";
import { FORMS, save, type Form } from "./saving";

export const CATEGORY = "Gradients";
export const SHOW_PANEL = "gradviz:show-panel";
export const LESSONS = "gradviz:lessons";
const RUN_TO = "gradviz:run-to";

/** Of what cells are made; see gradviz/notebook/inserting.py. */
const PARTS = { operator: "This Operator", group: "Its Group", pass: "the Whole Pass" };

const MOVES: { id: string; label: string; act(verbs: Verbs): void; isEnabled?(view: DebuggerView): boolean }[] = [
  { id: "gradviz:step", label: "Step", act: (verbs) => verbs.step() },
  { id: "gradviz:back", label: "Step Back", act: (verbs) => verbs.back() },
  { id: "gradviz:over", label: "Step Over", act: (verbs) => verbs.over() },
  { id: "gradviz:back-over", label: "Step Back Over", act: (verbs) => verbs.backOver() },
  { id: "gradviz:into", label: "Step Into", act: (verbs) => verbs.into() },
  { id: "gradviz:out", label: "Step Out", act: (verbs) => verbs.out() },
  { id: "gradviz:continue", label: "Continue", act: (verbs) => verbs.continue() },
  { id: "gradviz:reverse-continue", label: "Reverse Continue", act: (verbs) => verbs.reverseContinue() },
  { id: "gradviz:continue-cell", label: "Continue Cell", act: (verbs) => verbs.goOn(), isEnabled: (view) => view.waits },
  { id: "gradviz:restart", label: "Restart", act: (verbs) => verbs.restart() },
  { id: "gradviz:finish", label: "Finish", act: (verbs) => verbs.finish() },
];

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
export type Arguments = { in?: "menu" | "tile" | "context"; cwd?: string };

/** Adds a command and its entry in the palette. */
export function addCommand({ commands }: JupyterFrontEnd, palette: ICommandPalette | null, { id, label, caption, isEnabled, isVisible, act }: Command): void {
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
  const isOn = (is: (view: DebuggerView) => boolean = () => true) => (): boolean => current.body?.view != null && is(current.body.view);
  add({ id: SHOW_PANEL, label: "Show Panel", caption: "Show the gradients of the current notebook", act: () => panel && app.shell.activateById(panel.id) });
  for (const { id, label, act, isEnabled } of MOVES) {
    add({
      id,
      label,
      caption: `${label} in the recording of the gradients`,
      isEnabled: isOn(isEnabled),
      act() {
        const verbs = current.body?.view?.verbs;
        if (verbs) act(verbs);
      },
    });
  }
  add({ id: RUN_TO, label: "Run To…", caption: "Go to the next event of a blob, an operator or a kind of event", isEnabled: isOn(), act: () => askAndRunTo(current) });
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
