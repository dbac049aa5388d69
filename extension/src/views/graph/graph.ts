// The graph's pane: the drawing, or the table of the operators, and what is done to them: zoom, search, focus.

import { linesById } from "../../model/recording/lines";
import type { BreakpointEntry, Trace } from "../../model/schema";
import { messageOf } from "../../model/schema/json";
import { element, iconButton, ICONS } from "../elements/dom";
import type { Navigation } from "../elements/navigation";
import { createCanvas, type Canvas } from "./canvas";
import { read } from "./drawing/svg";
import { createFocus } from "./focus";
import { createOperators } from "./operators";
import { createSearch } from "./search";

export function createGraph(trace: Trace, navigation: Navigation) {
  const pane = element("div", { class: "gv-pane gv-graph", role: "region", "aria-label": "Graph" });
  const canvas = createDrawn(trace, navigation, pane);
  /** Most people never look at the table: it is made when somebody does. */
  let operators: ReturnType<typeof createOperators> | null = null;
  let [position, isTaught] = [0, false];
  const focus = createFocus(trace, (lines, line) => canvas?.keep(lines, line));
  const search = createSearch(trace, (lines) => canvas?.match(lines), lead);
  let selected: string | null = null;
  if (canvas) {
    const { viewport } = canvas;
    const tools = element(
      "div",
      { class: "gv-tools", role: "group", "aria-label": "Graph tools" },
      iconButton("Focus on what is near, or show all again (f)", "M2 5V2h3M11 2h3v3M14 11v3h-3M5 14H2v-3M6 8h4M8 6v4", () => navigation.focus()),
      iconButton("Zoom in (Ctrl + wheel)", ICONS.more, () => viewport.zoom(1.25)),
      iconButton("Zoom out", ICONS.fewer, () => viewport.zoom(0.8)),
      iconButton("Fit the graph (Space)", "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3", viewport.fit),
    );
    // While the focus is on, what it says stands where the search was.
    pane.prepend(element("div", { class: "gv-strip" }, focus.element, search.element, tools));
  }
  function opened(): ReturnType<typeof createOperators> {
    if (operators) return operators;
    operators = createOperators(trace, navigation);
    operators.teach(isTaught);
    operators.show(position);
    operators.select(selected);
    pane.append(operators.element);
    return operators;
  }

  function lead(line: string): void {
    if (focus.isOn) focus.end();
    canvas?.reveal(line);
    navigation.select(line);
  }

  return {
    element: pane,
    /** `touched` holds the lines that can look different than before. */
    show(at: number, touched: Set<string>) {
      position = at;
      canvas?.show(at, touched);
      operators?.show(at);
    },
    select(line: string | null) {
      selected = line;
      canvas?.select(line);
      operators?.select(line);
    },
    /** Marks the groups in which breakpoints stand. */
    mark: (breakpoints: readonly BreakpointEntry[]) => canvas?.mark(breakpoints),
    fit: () => canvas?.viewport.fit(),
    /** Shows what the wires carry and veils what comes later, or takes it back. */
    teach(isOn: boolean) {
      isTaught = isOn;
      canvas?.teach(isOn);
      operators?.teach(isOn);
    },
    /** Shows the table of the operators, or the graph. */
    table(isTable: boolean) {
      pane.classList.toggle("gv-tabular", isTable);
      if (isTable) opened().open();
      else if (operators) operators.element.hidden = true;
    },
    /** Puts the focus into the search field, and ends what hides the rest of the graph. */
    find() {
      focus.end();
      search.focus();
    },
    /** Shows what lies near a line alone, or all again. */
    toggleFocus: (line: string | undefined) => canvas && focus.toggle(selected ?? line),
    /** Ends the focus; false: there was none. */
    endFocus() {
      const wasOn = focus.isOn;
      focus.end();
      return wasOn;
    },
    /** Opens or closes the group around a line. */
    toggleGroup(line: string | undefined) {
      const at = selected ?? line;
      if (at !== undefined) canvas?.toggle(at);
    },
    dispose: () => [canvas?.viewport, operators].forEach((view) => view?.dispose()),
  };
}

/** What the operator of a node makes of what: "y@0 from x@0, w@0"; "" for a node that is no operator's. */
function passage(trace: Trace, node: string): string {
  const line = linesById(trace).get(node);
  return line ? `${line.outputs.join(", ")} from ${line.inputs.join(", ")}` : "";
}

/** The drawing, in the pane; null where there is none, and the pane says why. */
function createDrawn(trace: Trace, navigation: Navigation, pane: HTMLElement): Canvas | null {
  const { graph } = trace;
  try {
    if (graph.omitted !== null) throw new Error(`The graph was not drawn: ${graph.omitted}`);
    const canvas = createCanvas(trace, read(graph, (node) => passage(trace, node)), navigation);
    pane.append(canvas.element, canvas.note);
    return canvas;
  } catch (error) {
    const reason = messageOf(error);
    pane.append(element("p", { class: "gv-empty" }, reason, element("br"), "The program beside it tells the same story, and so does the table of the operators (g)."));
    return null;
  }
}
