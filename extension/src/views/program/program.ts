// The program as text in SSA form: the forward net and, below it, the backward pass as it grows.

import { currentEvent, forwardLine } from "../../model/recording/cursor";
import { linesById } from "../../model/recording/lines";
import { crumbs, placesOf } from "../../model/recording/places";
import { roundText } from "../../model/recording/values";
import type { BreakpointEntry, Line, Subnet, Trace } from "../../model/schema";
import { element } from "../elements/dom";
import { isSum } from "../elements/kinds";
import type { Navigation } from "../elements/navigation";
import { nestedIn, titleKey, type Part } from "./rows";
import { createSection, type Section, type Shared } from "./section";

export function createProgram(trace: Trace, navigation: Navigation) {
  const shared: Shared = { trace, position: 0, breakpoints: [], open: new Set(), rounds: new Map() };
  const { open } = shared;
  const sections = { forward: createSection("forward", shared), backward: createSection("backward", shared) };
  const both = [sections.forward, sections.backward];
  const pane = element("div", { class: "gv-pane gv-program", role: "region", "aria-label": "Program" });
  pane.append(...both.flatMap((section) => [section.head, section.body]));
  let entered = new Set<number>();
  let selected: string | null = null;

  pane.addEventListener("click", (event) => {
    const line = lineOf(event.target);
    if (!line || !(event.target instanceof Element)) return;
    if (event.target.matches(".gv-gutter")) navigation.toggleBreakpoint(line.id);
    else if (event.target.matches(".gv-fold")) setOpen(line.id, !open.has(line.id));
    else navigation.go(line.made);
  });
  pane.addEventListener("keydown", (event) => {
    const line = lineOf(event.target);
    if (!line || !(fold(event, line) || walk(event, line))) return;
    event.preventDefault();
    event.stopPropagation();
  });

  function lineOf(target: EventTarget | null): Line | undefined {
    const found = target instanceof Element ? target.closest<HTMLElement>(".gv-line") : null;
    return found ? linesById(trace).get(found.dataset["line"] ?? "") : undefined;
  }

  const sectionOf = (line: string): Section | undefined => both.find((section) => section.has(line));

  /** Plus opens and minus closes what is nested in a line. */
  function fold({ key }: KeyboardEvent, line: Line): boolean {
    if ((key !== "+" && key !== "-") || !isNest(line)) return false;
    setOpen(line.id, key === "+");
    return true;
  }

  /** Up and down move the focus from line to line. */
  function walk({ key }: KeyboardEvent, line: Line): boolean {
    if (key !== "ArrowUp" && key !== "ArrowDown") return false;
    const by = key === "ArrowDown" ? 1 : -1;
    const section = sectionOf(line.id);
    if (section?.walk(line.id, by)) return true;
    if (section === sections.forward && by > 0) sections.backward.enter("first");
    if (section === sections.backward && by < 0) sections.forward.enter("last");
    return true;
  }

  const isNest = (line: Line): boolean => (["forward", "backward"] as Part[]).some((part) => nestedIn(trace, line, part).length > 0);

  function setOpen(line: string, isOpen: boolean): void {
    if (open.has(line) === isOpen) return;
    if (isOpen) open.add(line);
    else open.delete(line);
    sectionOf(line)?.fill();
  }

  /** Opens the nests of the nets that have been entered since the last move; what a person folds then stays folded. */
  function follow(position: number): void {
    const here = crumbs(trace, position);
    for (const crumb of here) if (!entered.has(crumb.entered)) enter(crumb.subnet, crumb.frame);
    entered = new Set(here.map((crumb) => crumb.entered));
    shared.rounds.clear();
    for (const { subnet, frame } of here) {
      const run = frame === null ? undefined : trace.frames[frame];
      const owner = run?.is_backward ? subnet.backward_owner : subnet.owner;
      if (run && owner !== null) shared.rounds.set(titleKey(owner, subnet), roundText(trace, run));
    }
  }

  function enter(net: Subnet, frame: number | null): void {
    const isBackward = frame === null ? null : trace.frames[frame]?.is_backward;
    if (isBackward !== true && net.owner !== null) setOpen(net.owner, true);
    if (isBackward !== false && net.backward_owner !== null) setOpen(net.backward_owner, true);
  }

  /** `touched` holds the lines that can look different than before. */
  function show(position: number, touched: ReadonlySet<string>): void {
    const event = currentEvent(trace, position);
    shared.position = position;
    pane.classList.toggle("gv-accumulating", isSum(event));
    follow(position);
    const about = [...(event?.lines ?? []), forwardLine(event)].filter((id) => id !== undefined);
    for (const section of both) section.show(touched, about.filter((id) => section.has(id)).pop());
  }

  /** Outlines one line and brings it into view; null outlines none. */
  function select(line: string | null): void {
    if (line === null && selected === null) return;
    selected = line;
    if (line !== null) unfold(line);
    for (const section of both) section.select(line);
  }

  /** Opens what is folded around a line. */
  function unfold(line: string): void {
    const net = placesOf(trace).subnets.get(line.slice(0, Math.max(0, line.lastIndexOf("."))));
    const owner = net && (net.forward.some(({ id }) => id === line) ? net.owner : net.backward_owner);
    if (!owner) return;
    unfold(owner);
    setOpen(owner, true);
  }

  /** Marks the lines at which breakpoints stand. */
  function mark(breakpoints: readonly BreakpointEntry[]): void {
    shared.breakpoints = breakpoints;
    for (const section of both) section.mark();
  }

  return { element: pane, show, select, mark, dispose: () => both.forEach((section) => section.dispose()) };
}
