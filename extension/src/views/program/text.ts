// The left pane: the user's code, where the recording has it, and the program, in tabs.

import type { BreakpointEntry, CodeLine, Trace } from "../../model/schema";
import { createTabs } from "../elements/controls";
import { element } from "../elements/dom";
import type { Navigation } from "../elements/navigation";
import { createCode } from "./code";
import { createProgram } from "./program";

const TABS = ["Your code", "Program"] as const;

/** What the person chose of the pane. */
export interface Chosen {
  text: (typeof TABS)[number];
}

export function createText(trace: Trace, navigation: Navigation, chosen: Chosen) {
  const program = createProgram(trace, navigation);
  const code = createCode(trace, navigation);
  const hasCode = trace.sources.length > 0;
  const open = (tab: Chosen["text"]): void => {
    chosen.text = tab;
    show(tab);
  };
  const tabs = createTabs("Code and program", TABS, open);
  const panes = hasCode ? [tabs.element, code.element, program.element] : [program.element];
  const pane = element("div", { class: "gv-pane gv-program", role: "region", "aria-label": hasCode ? "Code and program" : "Program" }, ...panes);

  function show(tab: Chosen["text"]): void {
    tabs.show(tab);
    code.element.hidden = tab !== "Your code";
    program.element.hidden = hasCode && tab !== "Program";
  }
  show(chosen.text);

  return {
    element: pane,
    show: (position: number, touched: ReadonlySet<string>) => [code, program].forEach((view) => view.show(position, touched)),
    select: (line: string | null) => [code, program].forEach((view) => view.select(line)),
    mark: (breakpoints: readonly BreakpointEntry[]) => [code, program].forEach((view) => view.mark(breakpoints)),
    code(line: CodeLine) {
      if (hasCode) open("Your code");
      code.look(line);
    },
    dispose: () => [tabs, code, program].forEach((view) => view.dispose()),
  };
}
