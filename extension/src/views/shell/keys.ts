// The keys, while the focus is inside the debugger, the card that lists them, and what keeps JupyterLab's shortcuts away.

import { element } from "../elements/dom";
import type { Navigation } from "../elements/navigation";

/** What keys ask for beside moves: each is told of below. */
export type Commands = Record<"into" | "fit" | "breakpoint" | "watch" | "ledger" | "numbers" | "search" | "find" | "group" | "toggleHelp" | "escape", () => void>;

type Keyboard = Navigation & Commands;

/** What a key can ask for: all that takes no argument. */
type Command = { [Name in keyof Keyboard]: Keyboard[Name] extends () => void ? Name : never }[keyof Keyboard];

/** The keys as the card lists them, what they do, and the commands of the keys that browsers name so. */
const KEYS: [shown: string[], meaning: string, commands: Record<string, Command>][] = [
  [["→"], "step", { ArrowRight: "step" }],
  [["←"], "back", { ArrowLeft: "back" }],
  [["F10"], "over: to the end of this operator's events", { F10: "over" }],
  [["⇧ F10"], "back over", { "Shift+F10": "backOver" }],
  [["Enter", "F11"], "into the next operator's nested net", { Enter: "into", F11: "into" }],
  [["⇧ F11"], "out of the nested net", { "Shift+F11": "out" }],
  [["[", "]"], "the same place an iteration before, or on", { "[": "previousIteration", "]": "nextIteration" }],
  [["⇧ →", "⇧ ←"], "continue to the next breakpoint, or back to the last one", { "Shift+ArrowRight": "continue", "Shift+ArrowLeft": "reverseContinue" }],
  [["r"], "let the cell that waits here go on", { r: "goOn" }],
  [["b"], "breakpoint at this line, on or off", { b: "breakpoint" }],
  [["w"], "watch the blob in focus", { w: "watch" }],
  [["l"], "ledger of the blob in focus", { l: "ledger" }],
  [["n"], "numbers as a table or as a heat map", { n: "numbers" }],
  [["c"], "other clock: from where an operator was made to where it ran, and back", { c: "otherClock" }],
  [["t"], "teaching: values and gradients at the wires, a question before each step", { t: "teach" }],
  [["1 – 4"], "predict what comes; → or Enter reveals it", {}],
  [["Home"], "restart", { Home: "restart" }],
  [["End"], "finish", { End: "finish" }],
  [["/"], "run to …", { "/": "search" }],
  [["↑", "↓"], "walk through the lines; Enter runs to where one was made, + and − unfold it", {}],
  [["Space"], "the whole graph, until the next step; a size chosen by Ctrl + wheel, + or − stays until Space", { " ": "fit" }],
  [["p"], "projector: the graph and what is said of the step large enough for a lecture hall", { p: "project" }],
  [["s"], "search the graph; Enter goes to the next match", { s: "find" }],
  [["f"], "focus on what is near the operator, or show all again", { f: "focus", Escape: "escape" }],
  [["o"], "open or close the group around the operator", { o: "group" }],
  [["g"], "graph or table", { g: "table" }],
  [["?"], "these keys", { "?": "toggleHelp" }],
];

const COMMANDS = new Map(KEYS.flatMap(([, , commands]) => Object.entries(commands)));

/** Acts on a key; false when it means nothing here and belongs to the page. */
function act(event: KeyboardEvent, keyboard: Keyboard): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const command = commandOf(event);
  if (!command) return keyboard.answer(event.key);
  keyboard[command]();
  return true;
}

function commandOf(event: KeyboardEvent): Command | undefined {
  // Space and Enter press what has the focus and can be pressed.
  const isPress = event.key === " " || event.key === "Enter";
  if (isPress && event.target instanceof Element && event.target.matches("a, button, input, summary, [role=button]")) return undefined;
  // On many keyboards "?" and "/" are typed with Shift.
  const isShifted = event.shiftKey && event.key !== "?" && event.key !== "/";
  return COMMANDS.get(isShifted ? `Shift+${event.key}` : event.key);
}

export function helpCard(): HTMLElement {
  const rows = KEYS.map(([keys, meaning]) =>
    element("div", { role: "listitem" }, element("span", {}, ...keys.map((key) => element("kbd", {}, key))), " ", element("span", {}, meaning)),
  );
  return element("div", { class: "gv-help", role: "list", "aria-label": "Keys", tabindex: 0, hidden: true }, ...rows);
}

// In a notebook's command mode a lone letter or arrow is a shortcut of JupyterLab's (of Lumino's), taken before any
// element of the page sees it, by a selector that fits whatever has the focus. Lumino leaves alone an element that bears
// this attribute, so the element with the focus bears it. While Ctrl, Meta or Alt is held it does not: saving, the
// command palette and their like keep working.
const ATTRIBUTE = "data-lm-suppress-shortcuts";
const MODIFIERS = ["Control", "Meta", "Alt"];

/** Takes the keys that are pressed while the focus is inside `root`, and keeps shortcuts away from them, until the signal comes. */
export function ownKeys(root: HTMLElement, keyboard: () => Keyboard, signal: AbortSignal): void {
  const mark = (event: Event): void => (event.target as Element).setAttribute(ATTRIBUTE, "true");
  const unmark = (event: Event): void => (event.target as Element).removeAttribute(ATTRIBUTE);
  const unmarkForModifier = (event: KeyboardEvent): void => {
    if (MODIFIERS.includes(event.key)) unmark(event);
  };
  const down = (event: KeyboardEvent): void => {
    if (!act(event, keyboard())) return;
    event.preventDefault();
    event.stopPropagation();
  };
  root.addEventListener("focusin", mark, { signal });
  root.addEventListener("focusout", unmark, { signal });
  root.addEventListener("keydown", unmarkForModifier, { signal, capture: true });
  root.addEventListener("keyup", mark, { signal, capture: true });
  root.addEventListener("keydown", down, { signal });
}
