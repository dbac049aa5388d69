// The debugger: all views of one trace around one position.

import { Lesson } from "../../lesson/lesson";
import { createAnswers, onReply, problemIn, type Answers, type Ask, type Deed, type Verb } from "../../model/answers/asking";
import { continueFrom, marksOf, reverseContinueFrom, sameMarks, stopAt, toggledAt } from "../../model/filters/marks";
import { backOver, clamp, currentEvent, forwardLine, into, otherClock, otherIteration, out, over, touchedLines } from "../../model/recording/cursor";
import { beginOf, endOf, lengthOf, linesById } from "../../model/recording/lookup";
import type { CodeLine, Marks, Trace } from "../../model/schema";
import { createTabs } from "../elements/controls";
import { element } from "../elements/dom";
import type { Navigation, Verbs } from "../elements/navigation";
import { counted } from "../elements/numbers";
import { createGraph } from "../graph/graph";
import { runToTarget } from "../inspector/marks";
import { createInspector, type Chosen as ChosenOfInspector } from "../inspector/inspector";
import { createPredict } from "../lesson/predict";
import { createText, type Chosen as ChosenOfText } from "../program/text";
import { createTimeline } from "../timeline/timeline";
import { createCrumbs, createFormula, createNarration } from "./narration";
import { helpCard, ownKeys, type Commands } from "./keys";
import { INSERT, type Insert } from "./notices";
import { createToolbar } from "./toolbar";

export interface Host {
  /** The person moved to another position in this view. Not called for `setPosition`. */
  onPosition(position: number): void;
  /** The person changed breakpoints or watches in this view. Not called for `setMarks`. */
  onMarks?(marks: Marks): void;
  /** The person lets the cell that waits go on. */
  onGoOn?(): void;
  /** Answers questions about the recording; without it there is nobody to ask. */
  ask?: Ask;
  /** Whether it has the whole recording now, where a part of it is shown: it moves as verbs say, and brings other parts. */
  readonly hasWhole?: boolean;
}

export type DebuggerView = ReturnType<typeof createDebugger>;

/** Verbs by which a pass goes on that stands still; see gradviz/notebook/asking.py. */
type GoingOn = "step" | "over" | "run_to" | "continue_" | "finish";

const WORKING: Record<Deed, string> = { to_ssa: "Recording the SSA form …", save: "Writing the page …", cells: "Making the cells …" };
/** Its questions are about all that comes. */
const NO_LESSON = "This recording is so large that a part of it is shown at a time: teaching is for smaller ones.";
const NO_OPERATOR = "This step is about no operator: click one of the graph, and press f again.";
const NOT_INSERTED = 'JupyterLab and Notebook 7 insert cells, below a cell or from the side panel. Elsewhere: session.to_notebook("lesson.ipynb").';

/** Builds the debugger inside `root` (which gets the class `gradviz` and takes the keys while it has the focus). */
export function createDebugger(root: HTMLElement, trace: Trace, position: number, host: Host) {
  const chosen: Chosen = { tab: null, text: "Your code", isRuleOpen: false, areNumbersInTable: false, areOperatorsInTable: false, isProjected: false, pane: "Graph" };
  const lesson = new Lesson();
  let at = inside(trace, position);
  let marks = marksOf(trace);
  let panes: Panes;
  let waits = false;
  /** Of the move that led here, if it was made elsewhere: it can be another part that is shown then. */
  let outcome = "";
  /** Whether there is, or was, a kernel to have something done. */
  const isOfKernel = host.hasWhole === true && host.ask !== undefined;

  function move(to: number, isOwn: boolean): void {
    const isHere = to >= beginOf(trace) && to <= endOf(trace);
    if (!isHere && host.hasWhole) return isOwn ? leave(clamp(trace, to)) : undefined;
    const next = inside(trace, to);
    if (next === at) {
      if (isOwn) panes.select(null);
    } else show(next, isOwn);
    if (isOwn && next !== clamp(trace, to)) panes.narration.say(`Only events ${beginOf(trace) + 1} to ${endOf(trace)} of ${lengthOf(trace)} are here.`);
  }

  function show(next: number, isOwn: boolean): void {
    at = next;
    outcome = "";
    lesson.moved(trace, at);
    const hadFocus = root.contains(document.activeElement);
    panes.show(at);
    // What had the focus may be gone, and the keys must not go with it.
    if (hadFocus && !root.contains(document.activeElement)) root.focus({ preventScroll: true });
    if (isOwn) host.onPosition(at);
  }

  /** Moves to another part of the recording, which the host brings. */
  function leave(to: number): void {
    panes.narration.say(`Opening the events around ${to} …`);
    host.onPosition(to);
  }

  /** Moves as a verb says: of a part only whoever has the whole recording knows where to. */
  function travel(verb: Verb, here: () => void, ...given: string[]): void {
    if (!host.ask || !host.hasWhole || !trace.part) return here();
    void host.ask({ question: verb, arguments: given, position: at }).then((reply) => {
      outcome = "problem" in reply ? problemIn(reply) : reply.blocks.map((block) => (block.kind === "paragraph" ? block.text : "")).join(" ");
      panes.narration.say(outcome);
    });
  }

  /** Whether the pass stands still at the end, and somebody can let it go on; and whether that is here. */
  const isLive = (): boolean => trace.upcoming !== null && isOfKernel;
  const isNow = (): boolean => isLive() && at === lengthOf(trace);
  let isRunning = false;

  /** Lets the pass go on as a verb says, and says so until it stands still again. */
  function advance(verb: GoingOn, ...given: string[]): void {
    if (isRunning || !host.ask) return;
    isRunning = true;
    panes.narration.say(`Running ${trace.upcoming} …`);
    onReply(host.ask({ question: "advance", arguments: [verb, ...given], position: at }), (reply) => {
      isRunning = false;
      panes.narration.say(problemIn(reply));
    });
  }

  /** Lets the pass go on where it stands still; elsewhere moves over what has happened. */
  const orAdvance = (verb: GoingOn, here: () => void) => (): void => (isNow() ? advance(verb) : here());

  /** Has the kernel do something, and says what came of it. */
  function perform(ask: Ask, deed: Deed, ...given: string[]): void {
    panes.narration.say(WORKING[deed]);
    // What is handed out replaces nothing but an older page.
    onReply(ask({ question: deed, arguments: deed === "save" ? [...given, 1] : given, position: at }), (reply) => {
      const { file, cells } = ("data" in reply && reply.data) || {};
      if (Array.isArray(cells)) panes.narration.say(insert(cells));
      else panes.narration.say(...(typeof file === "string" ? ["Saved beside the notebook: ", fileLink(file)] : [problemIn(reply)]));
    });
  }

  /** Has the host insert cells; says how that went. */
  function insert(cells: unknown[]): string {
    const event: Insert = new CustomEvent(INSERT, { bubbles: true, composed: true, cancelable: true, detail: { cells } });
    return root.dispatchEvent(event) ? NOT_INSERTED : `${counted(cells.length, "cell")} inserted below.`;
  }

  function setMarks(next: Marks, isOwn: boolean): void {
    if (sameMarks(marks, next)) return;
    marks = next;
    panes.mark();
    if (isOwn) host.onMarks?.(marks);
  }

  /** Moves, and says what stopped it there. */
  function run(to: number): void {
    go(to);
    const stop = stopAt(trace, marks.breakpoints, at);
    const end = at === 0 ? "The start: no breakpoint before." : "The end: no breakpoint ahead.";
    panes.narration.say(stop ? `Breakpoint: ${[stop.entry.on, stop.value].filter(Boolean).join(", ")}` : end);
  }

  const go = (to: number): void => move(to, true);
  const navigation: Navigation = {
    go,
    step: orAdvance("step", () => go(lesson.next(trace, at))),
    back: () => go(lesson.previous(trace, at)),
    over: orAdvance("over", () => travel("over", () => go(over(trace, at)))),
    backOver: () => travel("back_over", () => go(backOver(trace, at))),
    into: orAdvance("step", () => travel("into", () => go(into(trace, at)))),
    out: () => travel("out", () => go(out(trace, at))),
    previousIteration: () => go(otherIteration(trace, at, -1) ?? at),
    nextIteration: () => go(otherIteration(trace, at, 1) ?? at),
    restart: () => go(0),
    finish: orAdvance("finish", () => go(lengthOf(trace))),
    runTo: (target) => {
      let problem: string | null = null;
      travel("run_to", () => (problem = runToTarget(trace, at, target, go)), target);
      if (problem === null || !isLive()) return problem;
      advance("run_to", target);
      return null;
    },
    focus: () => void (panes.graph.toggleFocus(panes.line()) || panes.narration.say(NO_OPERATOR)),
    perform: host.ask && isOfKernel ? perform.bind(null, host.ask) : null,
    select: (line) => panes.select(line),
    code: (line) => panes.code(line),
    /** Runs to the next breakpoint, or back to the last one, as if the person had asked for it here. */
    continue: orAdvance("continue_", () => travel("continue_", () => run(continueFrom(trace, marks.breakpoints, at)))),
    reverseContinue: () => travel("reverse_continue", () => run(reverseContinueFrom(trace, marks.breakpoints, at))),
    goOn: () => {
      if (waits) host.onGoOn?.();
    },
    otherClock: () =>
      travel("other_clock", () => {
        const to = otherClock(trace, at);
        if (to === null) panes.narration.say("No operator here was both made and run.");
        else go(to);
      }),
    teach: () => {
      if (trace.part) return panes.narration.say(NO_LESSON);
      lesson.toggle();
      panes.teach();
    },
    table: () => panes.table(),
    project: () => panes.project(),
    answer: (key) => lesson.isOn && panes.predict.answer(key),
    marks: () => marks,
    mark: (next) => setMarks(next, true),
    toggleBreakpoint: (id) => {
      const line = linesById(trace).get(id);
      const breakpoints = line ? toggledAt(line, marks.breakpoints) : null;
      if (breakpoints) setMarks({ ...marks, breakpoints }, true);
    },
  };

  function build(): void {
    const hadFocus = root.contains(document.activeElement);
    lesson.isOn &&= trace.part === null;
    root.setAttribute("aria-label", `gradviz debugger${trace.name ? `: ${trace.name}` : ""}`);
    panes = createPanes(root, trace, navigation, chosen, lesson, createAnswers(host.ask ?? null));
    panes.show(at);
    panes.toolbar.wait(waits);
    if (hadFocus) root.focus({ preventScroll: true });
  }

  function setWait(isOn: boolean): void {
    const hadFocus = root.contains(document.activeElement);
    waits = isOn;
    panes.toolbar.wait(waits);
    // The button that had the focus is gone, and the keys stay here for the next cell that waits.
    if (hadFocus && !waits) root.focus({ preventScroll: true });
  }

  const disposed = new AbortController();
  root.classList.add("gradviz");
  root.tabIndex = 0;
  root.setAttribute("role", "region");
  ownKeys(root, () => ({ ...navigation, ...panes.commands }), disposed.signal);
  build();
  return {
    get position() {
      return at;
    },
    get length() {
      return lengthOf(trace);
    },
    /** Moves to a position, clamped to 0..number of events. */
    setPosition: (to: number) => move(to, false),
    setMarks: (next: Marks) => setMarks(next, false),
    setWait,
    get waits() {
      return waits;
    },
    verbs: navigation as Verbs,
    /** Shows another trace, with the marks that it brings. */
    setTrace(other: Trace, to: number) {
      panes.dispose();
      trace = other;
      at = inside(other, to);
      marks = marksOf(other);
      lesson.clear();
      build();
      panes.narration.say(outcome);
    },
    /** Empties the root and lets go of every listener. */
    dispose() {
      disposed.abort();
      panes.dispose();
      root.replaceChildren();
    },
  };
}

/** A file beside the notebook that the window shows, as a link to it; where it shows none, its name. */
function fileLink(file: string): HTMLElement {
  const [, base, folder = ""] = /^(.*\/)(?:(?:lab|doc)(?:\/workspaces\/[^/]+)?\/tree|notebooks)\/(.*\/)?[^/]+\.ipynb$/.exec(location.pathname) ?? [];
  return base === undefined ? element("b", {}, file) : element("a", { href: `${base}files/${folder}${encodeURIComponent(file)}`, target: "_blank", rel: "noopener" }, file);
}

/** The position nearest to one of which the trace has the events. */
function inside(trace: Trace, position: number): number {
  return Math.min(Math.max(clamp(trace, position), beginOf(trace)), endOf(trace));
}

const PANES = ["Code", "Graph", "Inspector"] as const;
type Pane = (typeof PANES)[number];

/** In pixels, as the style sheet has it: from this on the graph is always seen. */
const BESIDE_GRAPH = 700;

/** What the person chose, which stays when another trace is shown. */
interface Chosen extends ChosenOfInspector, ChosenOfText {
  /** Whether the operators stand in a table and not in a graph. */
  areOperatorsInTable: boolean;
  isProjected: boolean;
  /** Which pane is seen where there is no room for all. */
  pane: Pane;
}

type Panes = ReturnType<typeof createPanes>;

/** The views in `root`, and what is asked of several of them at once. */
function createPanes(root: HTMLElement, trace: Trace, navigation: Navigation, chosen: Chosen, lesson: Lesson, answers: Answers) {
  const help = helpCard();
  const toolbar = createToolbar(trace, navigation, { card: help, toggle: () => commands.toggleHelp() });
  const timeline = createTimeline(trace, navigation);
  const crumbs = createCrumbs(trace, navigation);
  const program = createText(trace, navigation, chosen);
  const graph = createGraph(trace, navigation);
  const inspector = createInspector(trace, navigation, chosen, answers, lesson);
  const formula = createFormula(trace);
  const predict = createPredict(trace, navigation, lesson);
  const narration = createNarration(trace);
  const body = createPaneTabs([program.element, graph.element, inspector.element], chosen);
  root.replaceChildren(element("div", { class: "gv-frame" }, toolbar.element, help, timeline.element, crumbs.element, body.element, predict.element, formula.element, narration.element));

  function select(line: string | null): void {
    for (const view of [program, graph, inspector]) view.select(line);
  }

  const touched = touchedLines(trace);
  let shown: number | null = null;
  function show(position: number): void {
    const lines = touched(shown, position);
    shown = position;
    select(null);
    // The graph last: to have the step in sight it asks where things are, which lays out all that the others have changed.
    for (const view of [toolbar, timeline, crumbs, program, inspector, predict, formula, narration, graph]) view.show(position, lines);
  }

  function mark(): void {
    for (const view of [program, graph]) view.mark(navigation.marks().breakpoints);
    inspector.mark();
  }
  mark();

  function teach(): void {
    root.classList.toggle("gv-teaching", lesson.isOn);
    toolbar.teach(lesson.isOn);
    graph.teach(lesson.isOn);
    inspector.teach();
    predict.show(shown ?? 0);
  }
  teach();

  function table(isTable: boolean): void {
    chosen.areOperatorsInTable = isTable;
    graph.table(isTable);
    toolbar.table(isTable);
  }
  table(chosen.areOperatorsInTable);

  function project(isFar: boolean): void {
    chosen.isProjected = isFar;
    root.classList.toggle("gv-projected", isFar);
    graph.enlarge(isFar);
    toolbar.project(isFar);
  }
  project(chosen.isProjected);

  /** The line that has the focus, else the one that the event is about. */
  function line(): string | undefined {
    const focused = root.querySelector<HTMLElement>(".gv-line:focus")?.dataset["line"];
    const event = currentEvent(trace, shown ?? 0);
    return focused ?? event?.lines.at(-1) ?? forwardLine(event);
  }

  function inspect(tab: Parameters<typeof inspector.open>[0]): void {
    body.show("Inspector");
    inspector.open(tab);
  }

  const commands: Commands = {
    into: () => (predict.isAnswered() ? navigation.step() : navigation.into()),
    fit: graph.fit,
    breakpoint() {
      const at = line();
      if (at !== undefined) navigation.toggleBreakpoint(at);
    },
    watch() {
      const { watches, breakpoints } = navigation.marks();
      const blob = inspector.blob();
      if (blob !== undefined && !watches.includes(blob)) navigation.mark({ breakpoints, watches: [...watches, blob] });
      inspect("Watch");
    },
    ledger: () => inspect("Ledger"),
    numbers: inspector.toggleTable,
    search: toolbar.search,
    find() {
      table(false);
      body.show("Graph");
      graph.find();
    },
    group: () => graph.toggleGroup(line()),
    toggleHelp() {
      help.hidden = !help.hidden;
      // Below the toolbar, which has the button that closes it, in however many rows.
      help.style.setProperty("--gv-top", `${toolbar.element.offsetHeight + 2}px`);
    },
    escape() {
      if (help.hidden) graph.endFocus();
      help.hidden = true;
    },
  };

  function code(line: CodeLine): void {
    body.show("Code");
    program.code(line);
  }

  const dispose = (): void => [toolbar, body, timeline, program, graph, inspector, narration].forEach((view) => view.dispose());
  return { toolbar, graph, predict, narration, commands, code, show, select, mark, teach, table: () => table(!chosen.areOperatorsInTable), project: () => project(!chosen.isProjected), line, dispose };
}

/** The panes in the order of their names; where there is no room for all side by side, tabs above them choose one. */
function createPaneTabs(panes: readonly HTMLElement[], chosen: Chosen) {
  const tabs = createTabs("Panes", PANES, show);
  const body = element("div", { class: "gv-body" }, element("div", { class: "gv-pane-tabs" }, tabs.element), ...panes);

  function show(pane: Pane): void {
    chosen.pane = pane;
    body.dataset["pane"] = pane;
    tabs.show(pane);
  }

  const resizes = new ResizeObserver(() => {
    if (body.clientWidth >= BESIDE_GRAPH && chosen.pane === "Graph") show("Code");
  });
  resizes.observe(body);
  show(chosen.pane);
  return {
    element: body,
    show,
    dispose() {
      resizes.disconnect();
      tabs.dispose();
    },
  };
}
