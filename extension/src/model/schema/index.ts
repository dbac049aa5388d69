// The schema of a trace document: what its parts are, and what reads them. Other rooms take the types here, and the readers
// from the files of the parts.

export type { Graph, NodeGroup } from "./drawing";
export { KINDS, type EventKind, type Frame, type Grad, type Phase, type Pool, type Schedule, type TraceEvent, type Wait } from "./events";
export type { BreakpointEntry, Marks } from "./marks";
export type { Formula, GradientName, Line, Names, Obstacle, SliceName, Subnet } from "./program";
export type { Trace } from "./trace";
export type { Contribution, Ledger, Merge, Scalar, Value, Workspaces } from "./values";
