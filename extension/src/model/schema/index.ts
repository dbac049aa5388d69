// The schema of a trace document: its parts as the structs in Python have them, by the names that they have here.

import type { Line } from "./trace.gen";

export { Kind as KINDS, PROTOCOL } from "./trace.gen";
export type { BreakpointEntry, CodeLine, Contribution, Formula, Frame, Grad, Graph, Ledger, Line, Merge, Narration, NodeGroup, Obstacle, Phase, Pool, Schedule, Source, Subnet, Trace, TraceEvent, Value, Wait } from "./trace.gen";
export type { GradientSlice as SliceName, Kind as EventKind, Marked as Marks, Number as Scalar } from "./trace.gen";

export type Names = Pick<Line, "inputs" | "outputs">;
