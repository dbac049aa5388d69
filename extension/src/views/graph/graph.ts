// The graph's pane: the drawing, or the table of the operators, and what is done to them: zoom, search, focus.

import { lineState } from "../../model/recording/cursor";
import { addTo, allLines, forwardOf, lengthOf, linesById, netOf, numberOf, subnetOf } from "../../model/recording/lookup";
import type { BreakpointEntry, Line, Trace } from "../../model/schema";
import { messageOf } from "../../model/schema/reader";
import { button, element, iconButton, ICONS, leave } from "../elements/dom";
import { enter, textField } from "../elements/controls";
import type { Navigation } from "../elements/navigation";
import { counted } from "../elements/numbers";
import { createCanvas, type Canvas } from "./canvas";
import { read } from "./drawing/svg";
import { createOperators } from "./operators";

const SEARCH_HINT = "Operators whose type, name or blobs have this in them, or #index; Enter goes to the next one, Escape ends the search (s)";

/** `match` gets what matches of what is there by the position `until`, and `lead` the one that the person goes to. */
function createSearch(trace: Trace, until: () => number, match: (lines: string[]) => void, lead: (line: string) => void) {
  const input = textField({ "aria-label": "Search the graph", placeholder: "Find…  type, blob, #2", title: SEARCH_HINT });
  const count = element("span", { class: "gv-note", role: "status" });
  let matches: string[] = [];
  let at = -1;

  function tell(): void {
    const place = at < 0 ? `${matches.length} found` : `${at + 1} of ${matches.length}`;
    count.textContent = input.value.trim() === "" ? "" : matches.length === 0 ? "nothing" : place;
  }

  function look(): void {
    matches = matching(trace, input.value, until());
    at = -1;
    match(matches);
    tell();
  }

  input.addEventListener("input", look);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && matches.length > 0) {
      event.preventDefault();
      at = event.shiftKey ? (Math.max(at, 0) + matches.length - 1) % matches.length : (at + 1) % matches.length;
      lead(matches[at] ?? "");
      tell();
    } else if (event.key === "Escape") {
      input.value = "";
      look();
    }
  });
  return { element: element("div", { class: "gv-search", role: "search" }, input, count), focus: () => enter(input), look };
}

/** The lines, there by the position `until`, that a text means, in the order of the program: "#12" by index, others by type, name and blobs. */
export function matching(trace: Trace, text: string, until = lengthOf(trace)): string[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const index = /^#(\d+)$/.exec(wanted)?.[1];
  const has = (name: string): boolean => name.toLowerCase().includes(wanted);
  const fits = (line: Line): boolean => (index === undefined ? [line.type, line.name, ...touchedBy(line)].some(has) : numberOf(line) === Number(index));
  return allLines(trace).filter((line) => fits(line) && lineState(trace, line, until) !== "future").map(({ id }) => id);
}

const MOST = 5;

/** `keep` shows these lines alone, null all, and the second one where it was. */
function createFocus(trace: Trace, keep: (lines: ReadonlySet<string> | null, line: string) => void) {
  let hops = 2;
  let centre: string | null = null;
  const words = element("span", { role: "status" });
  const fewer = iconButton("Fewer hops", ICONS.fewer, () => change(hops - 1));
  const more = iconButton("More hops", ICONS.more, () => change(hops + 1));
  const bar = element("div", { class: "gv-focus", role: "group", "aria-label": "Focus", hidden: true }, fewer, words, more, iconButton("End the focus (f, Escape)", ICONS.remove, end));

  function change(to: number): void {
    if (centre === null || to < 1 || to > MOST) return;
    hops = to;
    show(centre);
  }

  function show(line: string): void {
    centre = line;
    bar.hidden = false;
    words.textContent = `${counted(hops, "hop")} around ${called(trace, line)}`;
    fewer.setAttribute("aria-disabled", String(hops === 1));
    more.setAttribute("aria-disabled", String(hops === MOST));
    keep(neighbourhood(trace, line, hops), line);
  }

  function end(): void {
    if (centre === null) return;
    const line = centre;
    centre = null;
    leave(bar);
    bar.hidden = true;
    keep(null, line);
  }

  return {
    element: bar,
    get isOn() {
      return centre !== null;
    },
    /** False where there is no line to show. */
    toggle(line: string | undefined): boolean {
      if (centre !== null) end();
      else if (line !== undefined) show(line);
      return centre !== null || line !== undefined;
    },
    end,
  };
}

function called(trace: Trace, id: string): string {
  const line = linesById(trace).get(id);
  const number = line ? numberOf(line) : null;
  return `${line?.type ?? ""}${number === null ? "" : ` ${line?.role === "forward" ? "" : "of "}#${number}`}`;
}

/** The ids of the lines within `hops` of a line, itself and all nested nets included; an unknown line has none. */
export function neighbourhood(trace: Trace, line: string, hops: number): Set<string> {
  const from = linesById(trace).get(line);
  const net = netOf(trace, subnetOf(line));
  if (!from || !net) return new Set();
  const touching = byBlob(net.backward, touchedBy);
  const beside = (one: Line): Line[] => touchedBy(one).flatMap((blob) => touching.get(blob) ?? []);
  const ofForward = (lines: Line[]): Line[] => lines.flatMap((one) => forwardOf(trace, one) ?? []);
  const starts = from.role === "forward" ? [from] : ofForward(from.of !== null ? [from] : beside(from));
  const near = within(net.forward, starts, hops);
  const backward = net.backward.filter((one) => ofForward([one]).some((forward) => near.has(forward)));
  // Seeds and sums that came from no single operator belong to what they read and write.
  const sums = backward.flatMap(beside).filter(({ of }) => of === null);
  return new Set([from, ...near, ...backward, ...sums].flatMap((one) => withNested(trace, one)).map(({ id }) => id));
}

/** A line and all lines of the nets that it runs. */
function withNested(trace: Trace, line: Line): Line[] {
  const nets = Object.values(line.subnets).flatMap((id) => netOf(trace, id) ?? []);
  return [line, ...nets.flatMap(({ forward, backward }) => [...forward, ...backward]).flatMap((one) => withNested(trace, one))];
}

/** From what a line reads to who writes it, and from what it writes to who reads it: of two that read one blob neither reaches the other, and what the net is fed joins nothing. */
function within(forward: Line[], starts: Line[], hops: number): Set<Line> {
  const writers = byBlob(forward, ({ outputs }) => outputs);
  const readers = byBlob(forward, ({ inputs }) => inputs);
  const reached = new Set(starts);
  for (let hop = 0; hop < hops; hop++) {
    for (const { inputs, outputs } of [...reached]) {
      const near = [...inputs.map((blob) => writers.get(blob)), ...outputs.map((blob) => readers.get(blob))];
      for (const line of near.flatMap((lines) => lines ?? [])) reached.add(line);
    }
  }
  return reached;
}

const touchedBy = ({ inputs, outputs }: Line): string[] => [...inputs, ...outputs];

/** The lines that have each blob among their `blobs`. */
function byBlob(lines: Line[], blobs: (line: Line) => string[]): Map<string, Line[]> {
  const linesByBlob = new Map<string, Line[]>();
  for (const line of lines) for (const blob of new Set(blobs(line))) addTo(linesByBlob, blob, line);
  return linesByBlob;
}

export function createGraph(trace: Trace, navigation: Navigation) {
  const pane = element("div", { class: "gv-pane gv-graph", role: "region", "aria-label": "Graph" });
  const canvas = createDrawn(trace, navigation, pane);
  /** Most people never look at the table: it is made when somebody does. */
  let operators: ReturnType<typeof createOperators> | null = null;
  let [position, isTaught] = [0, false];
  const focus = createFocus(trace, (lines, line) => canvas?.keep(lines, line));
  const search = createSearch(trace, () => (isTaught ? position : lengthOf(trace)), (lines) => canvas?.match(lines), lead);
  let selected: string | null = null;
  if (canvas) {
    const { viewport } = canvas;
    const hasNorms = trace.backward.some(({ ran }) => ran !== null);
    const tools = element(
      "div",
      { class: "gv-tools", role: "group", "aria-label": "Graph tools" },
      ...(hasNorms ? [toggle("‖∂‖", NORMS, (isOn) => pane.classList.toggle("gv-norms", isOn), true)] : []),
      ...(trace.graph.whole === null ? [] : [toggle("Plumbing", PLUMBING, canvas.plumb)]),
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
      if (isTaught) search.look();
    },
    select(line: string | null) {
      selected = line;
      canvas?.select(line);
      operators?.select(line);
    },
    mark: (breakpoints: readonly BreakpointEntry[]) => canvas?.mark(breakpoints),
    fit: () => canvas?.viewport.fit(),
    enlarge: (isFar: boolean) => canvas?.viewport.enlarge(isFar),
    /** Shows what the wires carry and veils what comes later, or takes it back. */
    teach(isOn: boolean) {
      isTaught = isOn;
      canvas?.teach(isOn);
      operators?.teach(isOn);
      search.look();
    },
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
    /** False where the step is about no operator, and none is selected. */
    toggleFocus: (line: string | undefined) => canvas === null || focus.toggle(selected ?? line),
    endFocus: focus.end,
    toggleGroup(line: string | undefined) {
      const at = selected ?? line;
      if (at !== undefined) canvas?.toggle(at);
    },
    dispose: () => [canvas?.viewport, operators].forEach((view) => view?.dispose()),
  };
}

const PLUMBING = "Show scopes, copies, handovers and the Do around each branch, which are folded into what they serve";

const NORMS = "The norm of the gradient on edges, and edges as thick as it is large";

/** A button that is on or off; what is on from the beginning, is so at once. */
function toggle(name: string, title: string, act: (isOn: boolean) => void, isOn = false): HTMLElement {
  if (isOn) act(true);
  const one = button(() => {
    const isOn = one.getAttribute("aria-pressed") !== "true";
    one.setAttribute("aria-pressed", String(isOn));
    act(isOn);
  }, { class: "gv-switch", "aria-pressed": String(isOn), title }, name);
  return one;
}

/** The drawing, in the pane; null where there is none, and the pane says why. */
function createDrawn(trace: Trace, navigation: Navigation, pane: HTMLElement): Canvas | null {
  const { graph } = trace;
  /** What the operator of a node makes of what: "y@0 from x@0, w@0"; "" for a node that is no operator's. */
  const passage = (node: string): string => {
    const line = linesById(trace).get(node);
    return line ? `${line.outputs.join(", ")} from ${line.inputs.join(", ")}` : "";
  };
  try {
    if (graph.omitted !== null) throw new Error(`The graph was not drawn: ${graph.omitted}`);
    const canvas = createCanvas(trace, read(graph, passage), () => read({ ...graph, svg: graph.whole }, passage), navigation);
    pane.append(canvas.element, canvas.note);
    return canvas;
  } catch (error) {
    const reason = messageOf(error);
    pane.append(element("p", { class: "gv-empty" }, reason, element("br"), "The program beside it tells the same story, and so does the table of the operators (g)."));
    return null;
  }
}
