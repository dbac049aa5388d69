// What an editor shows of a recording: the marked lines, and a gutter for breakpoints; and clicks into that and on line numbers.

import { Compartment, Facet, RangeSet, StateEffect, StateField, type EditorState, type Extension, type Range, type RangeValue } from "@codemirror/state";
import { Decoration, EditorView, gutter, GutterMarker, ViewPlugin } from "@codemirror/view";

import { element } from "../views/elements/dom";

/** What one editor has to show, by the numbers that lines were recorded with. One whose text is not the recorded one any more shows nothing. */
export interface Shown {
  /** Whether it is a cell, whose empty first lines IPython does not count. */
  isCell: boolean;
  /** The text of the lines that operators were called on. */
  lines: ReadonlyMap<number, string>;
  /** The line of the current operator; null: it is in another editor. */
  current: number | null;
  /** The other lines that the event is about. */
  others: readonly number[];
  isBackward: boolean;
  breakpoints: readonly number[];
}

/** An editor that is open. */
export interface Opened {
  /** Asks what to show. */
  update(): void;
  /** Scrolls to a line that an operator was called on; false: it is none, or reads otherwise by now. */
  reveal(line: number): boolean;
}

/** Who knows what an editor has to show, and does what is asked there. */
export interface Owner {
  shown(): Shown | null;
  /** Takes an editor in; the function that is returned lets it go. */
  open(opened: Opened): () => void;
  run(line: number): void;
  toggle(line: number): void;
}

/** The owner of an editor's text. */
export const owners = Facet.define<Owner>();

const change = StateEffect.define<Shown | null>();
const field = StateField.define<Shown | null>({
  create: () => null,
  update: (value, { effects }) => effects.reduce((shown, effect) => (effect.is(change) ? effect.value : shown), value),
});
const gutters = new Compartment();

/** Lets an editor show what its owner says. */
export function showsLines(owner: Owner): Extension {
  const first = owner.shown();
  const opened = ViewPlugin.define((view) => {
    const click = ({ target, clientY }: MouseEvent): void => {
      if (!(target instanceof Element && target.closest(".cm-lineNumbers"))) return;
      const number = codeAt(view.state, view.lineBlockAtHeight(clientY - view.documentTop).from);
      if (number !== null) owner.run(number);
    };
    view.dom.addEventListener("click", click);
    const close = owner.open({ update: () => update(view), reveal: (line) => reveal(view, line) });
    return {
      destroy() {
        view.dom.removeEventListener("click", click);
        close();
      },
    };
  });
  return [owners.of(owner), field.init(() => first), gutters.of(first ? dots : []), EditorView.decorations.compute([field, "doc"], marks), opened];
}

/** The number of the line at an offset; null: no operator was called on it, or it reads otherwise by now. */
export function codeAt(state: EditorState, offset: number): number | null {
  const number = state.doc.lineAt(offset).number - uncounted(state);
  return startOf(state, number) === null ? null : number;
}

/** Where a line on which an operator was called begins; null: it is none, or reads otherwise by now. */
function startOf(state: EditorState, number: number): number | null {
  const text = state.field(field, false)?.lines.get(number);
  const row = number + uncounted(state);
  if (text === undefined || row > state.doc.lines) return null;
  const line = state.doc.line(row);
  return line.text.trim() === text ? line.from : null;
}

/** How many empty lines a cell begins with. */
function uncounted(state: EditorState): number {
  let empty = 0;
  if (state.field(field, false)?.isCell) while (empty < state.doc.lines && state.doc.line(empty + 1).text.trim() === "") empty++;
  return empty;
}

function update(view: EditorView): void {
  const [was, is] = [view.state.field(field), view.state.facet(owners)[0]?.shown() ?? null];
  if (isSame(was, is)) return;
  // The gutter takes room from the code: it is there while it is of use.
  view.dispatch({ effects: [change.of(is), ...(was && is ? [] : [gutters.reconfigure(is ? dots : [])])] });
}

function reveal(view: EditorView, line: number): boolean {
  const start = startOf(view.state, line);
  if (start !== null) view.dispatch({ effects: EditorView.scrollIntoView(start, { y: "center" }) });
  return start !== null;
}

function isSame(a: Shown | null, b: Shown | null): boolean {
  const rest = (one: Shown | null): string => JSON.stringify(one && { ...one, lines: null });
  return a?.lines === b?.lines && rest(a) === rest(b);
}

const mark = (kind: string): Decoration => Decoration.line({ class: `gradviz-lab-line gradviz-lab-${kind}` });
const MARKS = { forward: mark("forward"), backward: mark("backward"), other: mark("other") };

function marks(state: EditorState): RangeSet<Decoration> {
  const shown = state.field(field);
  if (!shown) return Decoration.none;
  const kinds = new Map<number, keyof typeof MARKS>(shown.others.map((line) => [line, "other"]));
  if (shown.current !== null) kinds.set(shown.current, shown.isBackward ? "backward" : "forward");
  return placed(state, kinds, (kind) => MARKS[kind]);
}

/** What stands at lines, without those that read otherwise by now. */
function placed<Key, Item extends RangeValue>(state: EditorState, lines: ReadonlyMap<number, Key>, item: (key: Key, line: number) => Item): RangeSet<Item> {
  const ranges = [...lines].flatMap(([line, key]): Range<Item>[] => {
    const start = startOf(state, line);
    return start === null ? [] : [item(key, line).range(start)];
  });
  return RangeSet.of(ranges, true);
}

class Dot extends GutterMarker {
  constructor(private readonly isSet: boolean) {
    super();
  }

  override eq(other: Dot): boolean {
    return this.isSet === other.isSet;
  }

  override toDOM(): Node {
    return element("span", { class: `gradviz-lab-dot${this.isSet ? " gradviz-lab-set" : ""}`, title: this.isSet ? "Breakpoint: a click takes it away" : "Break here" });
  }
}

const [SET, FREE] = [new Dot(true), new Dot(false)];

const dots = gutter({
  class: "gradviz-lab-gutter",
  markers({ state }) {
    const shown = state.field(field);
    return placed(state, shown?.lines ?? new Map<number, string>(), (_, line): GutterMarker => (shown?.breakpoints.includes(line) ? SET : FREE));
  },
  initialSpacer: () => FREE,
  domEventHandlers: {
    mousedown({ state }, { from }) {
      const line = codeAt(state, from);
      if (line !== null) state.facet(owners)[0]?.toggle(line);
      return true;
    },
  },
});
