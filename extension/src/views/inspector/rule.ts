// The rule that gave an operator its gradient: where it is written, and its text.

import { ruleOf } from "../../model/filters/code";
import { forwardOf } from "../../model/recording/lookup";
import type { Line, Trace } from "../../model/schema";
import { element } from "../elements/dom";

/** What the person chose of it. */
export interface Chosen {
  /** Whether the text of rules is shown. */
  isRuleOpen: boolean;
}

/** Of a line the rule of its operator, or of the one that it came from; nothing where none is known. */
export function ruleCard(trace: Trace, line: Line | undefined, chosen: Chosen): HTMLElement[] {
  const place = line && ruleOf(trace, line);
  if (!line || !place) return [];
  const { type } = forwardOf(trace, line) ?? line;
  const text = trace.rules[place];
  const title = [`Rule of ${type} `, element("span", { class: "gv-note" }, place)];
  if (text === undefined) return [element("div", { class: "gv-rule" }, ...title)];
  const card = element("details", { class: "gv-rule", open: chosen.isRuleOpen }, element("summary", {}, ...title), element("pre", { tabindex: 0, "aria-label": `Rule of ${type}` }, element("code", {}, text)));
  card.addEventListener("toggle", () => (chosen.isRuleOpen = card.open));
  return [card];
}
