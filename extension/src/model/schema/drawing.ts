// The drawing in a document: its picture, and what the groups of a large net show when they open.

import { count, fields, list, name, record, text, texts, type Read, type Reader } from "./json";

/** Neighbours of a large net that the drawing shows as one node in each lane until it opens. */
const nodeGroup = fields((field, later) => ({
  /** "g0", in a nested net "s0.g0". */
  id: field("id", text),
  /** The group that it lies in, one before it. */
  around: later("around", name, null),
  /** The lines that are in it and in no group inside of it. */
  lines: field("lines", texts),
  /** What it shows when it opens, an index into the graph's shapes, and what the shape says here. */
  shape: field("shape", count),
  words: field("words", texts),
}));
export type NodeGroup = Read<typeof nodeGroup>;

/** `phrases` are what all shapes have in common, in pieces. */
const drawn = fields((field, later) => ({
  svg: field("svg", text),
  dot: field("dot", text),
  groups: later("groups", list(nodeGroup), []),
  shapes: later("shapes", texts, []),
  phrases: later("phrases", texts, []),
}));
const notDrawn = fields((field) => ({ omitted: field("omitted", text) }));

export type Graph = Read<typeof drawn> | Read<typeof notDrawn>;
export const graph: Reader<Graph> = (found, path) => ("omitted" in record(found, path) ? notDrawn : drawn)(found, path);
