// The toolbar: few, labelled buttons, "run to", and where we are.

import { lengthOf, reason } from "../../model/recording/lookup";
import type { Trace } from "../../model/schema";
import { createChoice, createMenu, enter, textField } from "../elements/controls";
import { attribute, button, element, icon, leave, type Child } from "../elements/dom";
import type { Navigation } from "../elements/navigation";

/** More suggestions than this help nobody and slow the list down. */
const SUGGESTIONS = 300;

/** Pixels of the field that holds the whole hint. */
const HINTED = 176;

/** Of what cells are made; see gradviz/notebook/inserting.py. */
const PARTS = { operator: "This operator", group: "All of its group", pass: "The whole pass" };

let toolbars = 0;

export function createToolbar(trace: Trace, navigation: Navigation, help: { toggle: () => void; card: HTMLElement }) {
  const restart = stepButton("Restart", "Restart (Home)", navigation.restart, icon("M3 3v10M13 3 6 8l7 5z"));
  const back = stepButton("Back", "Back (←)", navigation.back, icon("M12 3 4 8l8 5z"));
  const step = stepButton("Step", "Step (→)", navigation.step, icon("M4 3l8 5-8 5z"), "Step");
  const backOver = stepButton("Back over", "Back over: to the start of this operator's events (Shift+F10)", navigation.backOver, "Back over");
  const over = stepButton("Over", "Over: to the end of the next operator's events (F10)", navigation.over, "Over");
  const into = stepButton("Into", "Into: into the next operator's nested net (Enter, F11)", navigation.into, "In");
  const out = stepButton("Out", "Out: to where the nested net is left (Shift+F11)", navigation.out, "Out");
  const finish = stepButton("Finish", "Finish (End)", navigation.finish, icon("M13 3v10M3 3l7 5-7 5z"));
  const reverse = stepButton("Back to", "Back to the last breakpoint (Shift+←)", navigation.reverseContinue, icon("M8 3 2 8l6 5zM14 3 8 8l6 5z"), " Back to");
  const onward = stepButton("Continue", "Continue to the next breakpoint (Shift+→)", navigation.continue, "Continue ", icon("M2 3l6 5-6 5zM8 3l6 5-6 5z"));
  const clock = stepButton("Other clock", "Other clock: from where an operator was made to where it ran, and back (c)", navigation.otherClock, icon("M3 5h10l-3-3M13 11H3l3 3"));
  clock.classList.add("gv-stroked");
  const teach = stepButton("Teach", "Teaching: values and gradients at the wires, a question before each step (t)", navigation.teach, "Teach");
  const project = stepButton("Projector", "Projector: the graph and what is said of the step large enough for a lecture hall (p)", navigation.project, "Projector");
  const { perform } = navigation;
  const handOut = perform ? [stepButton("Hand out", "Hand out: save a page of this beside the notebook, which any browser shows", () => perform("save", "page", ""), "Hand out")] : [];
  const cells = perform ? [createMenu("Cells", "Insert as cells below: what runs this again, step by step", PARTS, (part) => perform("cells", part))] : [];
  const picture = createChoice("gv-segments", "Operators as", ["Graph", "Table"], (name) => ({ title: `${name} (g)` }), navigation.table);
  const isRun = trace.part !== null || trace.events.some(({ kind }) => kind === "Ran");
  step.classList.add("gv-primary");
  const keys = stepButton("Keys", "Keys (?)", help.toggle, "?");
  keys.setAttribute("aria-expanded", "false");
  const expansions = new MutationObserver(() => keys.setAttribute("aria-expanded", String(!help.card.hidden)));
  expansions.observe(help.card, { attributes: true, attributeFilter: ["hidden"] });

  const runTo = createRunTo(trace, navigation);
  const where = element("b");
  // As wide as it gets, so that no step wraps the toolbar.
  const length = lengthOf(trace);
  where.style.minWidth = `${String(length).length}ch`;
  const { obstacle } = trace;
  const notRun = obstacle ? [button(() => navigation.select(obstacle.lines[0] ?? null), { class: "gv-not-run", title: reason(obstacle) }, "✗ not run")] : [];
  const position = element("span", { class: "gv-position" }, element("span", { class: "gv-word" }, "event "), where, ` / ${length}`);
  const separator = (): HTMLElement => element("span", { class: "gv-separator" });
  const bar = element("div", { class: "gv-toolbar", role: "group", "aria-label": "Stepping" });
  const waiting = element("span", { role: "status" });
  const goOn = button(navigation.goOn, { class: "gv-primary", title: "Let the cell that waits here go on (r)" }, icon("M3 3h2v10H3zM7 3l7 5-7 5z"), "Continue cell");
  const wait = element("div", { class: "gv-wait" }, waiting, goOn);
  bar.append(wait, restart, back, step, separator(), backOver, over, ...(trace.subnets.length > 0 ? [into, out] : []), finish, separator(), reverse, onward, ...(isRun ? [clock] : []), separator(), runTo.element, separator(), picture.element, teach, project, ...handOut, ...cells, element("span", { class: "gv-where" }, ...notRun, position, keys));

  function show(to: number): void {
    where.textContent = String(to);
    for (const one of [restart, back, backOver, reverse]) one.setAttribute("aria-disabled", String(to === 0));
    for (const one of [step, over, into, out, finish, onward]) one.setAttribute("aria-disabled", String(to === length && trace.upcoming === null));
    runTo.clear();
  }

  return {
    element: bar,
    show,
    /** Shows whether a cell waits at the session, and what lets it go on. */
    wait(isOn: boolean) {
      wait.classList.toggle("gv-on", isOn);
      waiting.textContent = isOn ? "A cell waits." : "";
    },
    teach(isOn: boolean) {
      teach.setAttribute("aria-pressed", String(isOn));
      runTo.suggest(!isOn);
    },
    project: (isFar: boolean) => project.setAttribute("aria-pressed", String(isFar)),
    table: (isTable: boolean) => picture.show(isTable ? "Table" : "Graph"),
    search: runTo.focus,
    dispose() {
      expansions.disconnect();
      runTo.dispose();
    },
  };
}

/** Where there is nowhere to go the button is marked, not disabled: a disabled one would drop the focus, and the keys with it. */
function stepButton(name: string, title: string, act: () => void, ...children: Child[]): HTMLButtonElement {
  return button(act, { title, "aria-label": name }, ...children);
}

function createRunTo(trace: Trace, navigation: Navigation) {
  const list = element("datalist", { id: `gv-targets-${++toolbars}` });
  for (const target of targets(trace)) list.append(element("option", { value: target }));
  const input = textField({
    "aria-label": "Run to",
    title: "Run to the next event of a blob, an operator type, #index, a kind of event, a nested net, an iteration, NaN, or a condition: norm > 10 (Enter)",
  });
  // As much of the hint as there is room for.
  const hints = new ResizeObserver(() => (input.placeholder = input.clientWidth < HINTED ? "Run to…" : "Run to…  blob, op, #2"));
  hints.observe(input);
  const message = element("span", { class: "gv-message", role: "status" });
  const clear = (): void => message.replaceChildren();
  // They are of the whole recording: in a lesson they would tell what comes.
  const suggest = (isOn: boolean): void => attribute(input, "list", isOn && list.id);
  input.addEventListener("input", clear);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && input.value.trim() !== "") {
      event.preventDefault();
      const problem = navigation.runTo(input.value.trim());
      message.replaceChildren(problem ?? "");
      if (problem === null) leave(input);
    } else if (event.key === "Escape") clear();
  });
  return { element: element("span", { class: "gv-run-to" }, input, list, message), clear, suggest, focus: () => enter(input), dispose: () => hints.disconnect() };
}

function targets({ frames, subnets, events }: Trace): string[] {
  const iterations = frames.some((frame) => frame.iteration !== null) ? ["iteration 0"] : [];
  const nets = subnets.map(({ path, name }) => path.at(-1) ?? name);
  // Events of a loop share their lists of targets.
  const lists = new Set(events.map((event) => event.targets));
  return [...new Set([...iterations, ...nets, ...[...lists].flat()])].slice(0, SUGGESTIONS);
}
