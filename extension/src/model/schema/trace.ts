// The trace document: a recording of how a backward pass came into being, as it is worked with here.

import type { Graph } from "./drawing";
import type { Frame, Schedule, TraceEvent } from "./events";
import type { Marks } from "./marks";
import type { Formula, GradientName, Line, Obstacle, Subnet, Ys } from "./program";
import type { Ledger, Merge, Value, Workspaces } from "./values";

export const FORMAT = "gradviz-trace";
export const VERSION = 1;

export interface Trace extends Marks {
  format: typeof FORMAT;
  version: typeof VERSION;
  producer: string;
  /** Its name: symbolic, rank, tape, or that of an engine that somebody has registered. */
  engine: string;
  name: string;
  summary: string;
  /** Why the program was not run although a workspace was given. */
  obstacle: Obstacle | null;
  net: Record<string, unknown>;
  ys: Ys;
  skip: number;
  forward: Line[];
  backward: Line[];
  /** The nested nets, an outer one before those inside of it. */
  subnets: Subnet[];
  events: TraceEvent[];
  frames: Frame[];
  /** The values around all nested nets, by blob version. */
  values: Record<string, Value>;
  /** The values in frames. */
  arrays: Value[];
  stacks: Workspaces[];
  ledgers: Ledger[];
  merges: Merge[];
  gradients: Record<string, GradientName>;
  graph: Graph;
  /** Null: the pass was not run by a schedule. */
  schedule: Schedule | null;
  /** By operator type. */
  formulas: Record<string, Formula>;
}
