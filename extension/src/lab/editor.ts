// What an editor shows of a recording: the marked lines, and a gutter for breakpoints; and clicks into that and on line numbers.

import { Compartment, Facet, RangeSet, StateEffect, StateField, type EditorState, type Extension, type Range } from "@codemirror/state";
import { Decoration, EditorView, gutter, GutterMarker, ViewPlugin } from "@codemirror/view";

import { element } from "../views/elements/dom";

/** What one editor has to show. Lines count from 1; one whose text is not the recorded one any more shows nothing. */
export interface Shown {
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
  update: (value, { effects }) => effects.reduce((found, effect) => (effect.is(change) ? effect.value : found), value),
});
const gutters = new Compartment();

/** Lets an editor show what its owner says. */
export function showsLines(owner: Owner): Extension {
  const first = owner.shown();
  const opened = ViewPlugin.define((view) => {
    const click = ({ target, clientY }: MouseEvent): void => {
      const line = target instanceof Element && target.closest(".cm-lineNumbers") ? lineAt(view, clientY) : 0;
      if (isCode(view.state, line)) owner.run(line);
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

/** Whether an operator was called on a line, and it still reads as it did then. */
export function isCode(state: EditorState, line: number): boolean {
  const text = state.field(field, false)?.lines.get(line);
  return text !== undefined && line <= state.doc.lines && state.doc.line(line).text.trim() === text;
}

function update(view: EditorView): void {
  const [was, is] = [view.state.field(field), view.state.facet(owners)[0]?.shown() ?? null];
  if (isSame(was, is)) return;
  // The gutter takes room from the code: it is there while it is of use.
  view.dispatch({ effects: [change.of(is), ...(was && is ? [] : [gutters.reconfigure(is ? dots : [])])] });
}

function reveal(view: EditorView, line: number): boolean {
  if (!isCode(view.state, line)) return false;
  view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(line).from, { y: "center" }) });
  return true;
}

function isSame(a: Shown | null, b: Shown | null): boolean {
  const rest = (one: Shown | null): string => JSON.stringify(one && { ...one, lines: null });
  return a?.lines === b?.lines && rest(a) === rest(b);
}

function lineAt(view: EditorView, y: number): number {
  return view.state.doc.lineAt(view.lineBlockAtHeight(y - view.documentTop).from).number;
}

const mark = (kind: string): Decoration => Decoration.line({ class: `gradviz-lab-line gradviz-lab-${kind}` });
const MARKS = { forward: mark("forward"), backward: mark("backward"), other: mark("other") };

function marks(state: EditorState): RangeSet<Decoration> {
  const found = state.field(field);
  if (!found) return Decoration.none;
  const kinds = new Map<number, keyof typeof MARKS>(found.others.map((line) => [line, "other"]));
  if (found.current !== null) kinds.set(found.current, found.isBackward ? "backward" : "forward");
  return Decoration.set([...kinds].filter(([line]) => isCode(state, line)).map(([line, kind]) => MARKS[kind].range(state.doc.line(line).from)), true);
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
    const found = state.field(field);
    const lines = [...(found?.lines.keys() ?? [])].filter((line) => isCode(state, line));
    return RangeSet.of(lines.map((line): Range<GutterMarker> => (found?.breakpoints.includes(line) ? SET : FREE).range(state.doc.line(line).from)), true);
  },
  initialSpacer: () => FREE,
  domEventHandlers: {
    mousedown({ state }, { from }) {
      const line = state.doc.lineAt(from).number;
      if (isCode(state, line)) state.facet(owners)[0]?.toggle(line);
      return true;
    },
  },
});
