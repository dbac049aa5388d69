// The commands of gradviz: moves over the debugger that is in use, for the palette, shortcuts and other extensions.

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { type ICommandPalette, InputDialog, Notification } from "@jupyterlab/apputils";

import { runTo } from "../model/filters/occurrences";
import { backOver, clamp, into, out, over } from "../model/recording/cursor";
import type { Trace } from "../model/schema";
import { gradvizIcon, type DebuggerBody } from "./panel";
import { lengthOf } from "../model/recording/lookup";

const CATEGORY = "Gradients";

const SHOW_PANEL = "gradviz:show-panel";
const RUN_TO = "gradviz:run-to";

const MOVES: { id: string; label: string; act(body: DebuggerBody | null): void }[] = [
  { id: "gradviz:step", label: "Step", act: to((_, position) => position + 1) },
  { id: "gradviz:back", label: "Step Back", act: to((_, position) => position - 1) },
  { id: "gradviz:over", label: "Step Over", act: to(over) },
  { id: "gradviz:back-over", label: "Step Back Over", act: to(backOver) },
  { id: "gradviz:into", label: "Step Into", act: to(into) },
  { id: "gradviz:out", label: "Step Out", act: to(out) },
  { id: "gradviz:continue", label: "Continue", act: (body) => body?.view?.continue() },
  { id: "gradviz:reverse-continue", label: "Reverse Continue", act: (body) => body?.view?.reverseContinue() },
  { id: "gradviz:restart", label: "Restart", act: to(() => 0) },
  { id: "gradviz:finish", label: "Finish", act: to(lengthOf) },
];

/** Moves to where a function of the trace and the position leads. */
function to(target: (trace: Trace, position: number) => number): (body: DebuggerBody | null) => void {
  return (body) => {
    if (body?.place) body.moveTo(clamp(body.place.trace, target(body.place.trace, body.place.position)));
  };
}

/** Adds the commands; `current` gives the debugger in use, `showPanel` brings up the side panel. */
export function addCommands(
  app: JupyterFrontEnd,
  palette: ICommandPalette | null,
  current: () => DebuggerBody | null,
  showPanel: () => void,
): void {
  const { commands } = app;
  const isEnabled = (): boolean => current()?.place != null;
  for (const { id, label, act } of MOVES) {
    commands.addCommand(id, { label, caption: `${label} in the recording of the gradients`, isEnabled, execute: () => act(current()) });
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
  if (!body?.place) return;
  const label = "A blob (a, a@0), an operator (#2, FC), an event (Accumulated) or a nested net (2.loop_net, iteration 3)";
  const { value } = await InputDialog.getText({ title: "Run to", label });
  if (!value || !body.place) return;
  const found = runTo(body.place.trace, body.place.position, value);
  if (found === null) Notification.info(`Nothing after event ${body.place.position} matches “${value}”.`, { autoClose: 5000 });
  else body.moveTo(found);
}
