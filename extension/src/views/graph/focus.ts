// The focus: only what lies within some hops of one operator is shown.

import { linesById, numberOf } from "../../model/recording/lines";
import type { Trace } from "../../model/schema";
import { element, iconButton, leave, ICONS } from "../elements/dom";
import { counted } from "../elements/numbers";
import { neighbourhood } from "./hops";

const MOST = 5;

export interface Focus {
  element: HTMLElement;
  readonly isOn: boolean;
  /** Focuses on a line, or shows all again. */
  toggle(line: string | undefined): void;
  end(): void;
}

/** `keep` shows these lines alone, null all, and the second one where it was. */
export function createFocus(trace: Trace, keep: (lines: ReadonlySet<string> | null, line: string) => void): Focus {
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
    toggle(line) {
      if (centre !== null) end();
      else if (line !== undefined) show(line);
    },
    end,
  };
}

function called(trace: Trace, id: string): string {
  const line = linesById(trace).get(id);
  const number = line ? numberOf(line) : null;
  return `${line?.type ?? ""}${number === null ? "" : ` ${line?.role === "forward" ? "" : "of "}#${number}`}`;
}
