// The commands of gradviz: moves over the debugger that is in use, for the palette, shortcuts and other extensions.

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { type ICommandPalette, InputDialog, Notification } from "@jupyterlab/apputils";

import type { Verbs } from "../views/elements/navigation";
import { gradvizIcon, type DebuggerBody } from "./panel";

const CATEGORY = "Gradients";

const SHOW_PANEL = "gradviz:show-panel";
const RUN_TO = "gradviz:run-to";

const MOVES: { id: string; label: string; act(verbs: Verbs): void }[] = [
  { id: "gradviz:step", label: "Step", act: (verbs) => verbs.step() },
  { id: "gradviz:back", label: "Step Back", act: (verbs) => verbs.back() },
  { id: "gradviz:over", label: "Step Over", act: (verbs) => verbs.over() },
  { id: "gradviz:back-over", label: "Step Back Over", act: (verbs) => verbs.backOver() },
  { id: "gradviz:into", label: "Step Into", act: (verbs) => verbs.into() },
  { id: "gradviz:out", label: "Step Out", act: (verbs) => verbs.out() },
  { id: "gradviz:continue", label: "Continue", act: (verbs) => verbs.continue() },
  { id: "gradviz:reverse-continue", label: "Reverse Continue", act: (verbs) => verbs.reverseContinue() },
  { id: "gradviz:restart", label: "Restart", act: (verbs) => verbs.restart() },
  { id: "gradviz:finish", label: "Finish", act: (verbs) => verbs.finish() },
];

/** Adds the commands; `current` gives the debugger in use, `showPanel` brings up the side panel. */
export function addCommands(
  app: JupyterFrontEnd,
  palette: ICommandPalette | null,
  current: () => DebuggerBody | null,
  showPanel: () => void,
): void {
  const { commands } = app;
  const isEnabled = (): boolean => current()?.view != null;
  for (const { id, label, act } of MOVES) {
    commands.addCommand(id, { label, caption: `${label} in the recording of the gradients`, isEnabled, execute: () => { const verbs = current()?.view?.verbs; if (verbs) act(verbs); } });
  }
  commands.addCommand(RUN_TO, {
    label: "Run To…",
    caption: "Go to the next event of a blob, an operator or a kind of event",
    isEnabled,
    execute: () => askAndRunTo(current()),
  });
  commands.addCommand(SHOW_PANEL, { label: "Show Gradients", caption: "The gradients of the current notebook", icon: gradvizIcon, execute: showPanel });
  for (const command of [SHOW_PANEL, ...MOVES.map((move) => move.id), RUN_TO]) {
    palette?.addItem({ command, category: CATEGORY });
  }
}

async function askAndRunTo(body: DebuggerBody | null): Promise<void> {
  if (!body?.view) return;
  const label = "A blob (a, a@0), an operator (#2, FC), an event (Accumulated) or a nested net (2.loop_net, iteration 3)";
  const { value } = await InputDialog.getText({ title: "Run to", label });
  const problem = value ? body.view?.verbs.runTo(value) : null;
  if (problem) Notification.info(problem, { autoClose: 5000 });
}
