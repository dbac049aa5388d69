// The nodes of a parsed condition, and the words that it may use.

export type Type = "number" | "text" | "truth" | "list" | "event" | "op" | "blob" | "inputs";

export type Node = { at: number; type: Type; depth: number } & (
  | { kind: "number"; value: number }
  | { kind: "text"; value: string }
  | { kind: "list"; items: Node[] }
  /** What is known of a thing: "event", "op", "x", "g", "inputs", or a blob behind a colon; without an attribute it is the thing itself. */
  | { kind: "field"; thing: string; attribute: string }
  | { kind: "negative" | "not"; of: Node }
  | { kind: "arithmetic"; sign: string; left: Node; right: Node }
  | { kind: "comparison"; first: Node; rest: [sign: string, value: Node][] }
  | { kind: "and" | "or"; parts: Node[] }
  | { kind: "call"; name: string; argument: Node }
);
export type Field = Extract<Node, { kind: "field" }>;

export const STATISTICS = ["norm", "min", "max", "mean", "mean_abs", "nan", "inf", "subnormal", "zero", "size"] as const;

const numbers = (...names: string[]): Record<string, Type> => Object.fromEntries(names.map((name) => [name, "number"]));

const BLOB: Record<string, Type> = { name: "text", version: "number", ...numbers(...STATISTICS), shape: "list", dtype: "text", device: "text" };
const EVENT: Record<string, Type> = { kind: "text", phase: "text", path: "text", ...numbers("step", "iteration", "seconds", "n", "sparse", "dense") };

/** What is known of the things of a type. */
export const FIELDS: Partial<Record<Type, Record<string, Type>>> = {
  event: EVENT,
  op: { type: "text", index: "number", role: "text", name: "text", device: "text" },
  blob: BLOB,
  inputs: numbers("nan", "inf", "subnormal", "devices"),
};

export const THINGS: Record<string, Type> = { event: "event", op: "op", x: "blob", g: "blob", inputs: "inputs" };

/** What a word means: a thing, or a field of one. */
export const NAMES = new Map<string, [thing: string, attribute: string]>([
  ...Object.keys(THINGS).map((thing): [string, [string, string]] => [thing, [thing, ""]]),
  ...Object.keys(EVENT).map((field): [string, [string, string]] => [field, ["event", field]]),
  ...Object.keys(BLOB).filter((field) => field !== "name").map((field): [string, [string, string]] => [field, ["x", field]]),
  ["blob", ["x", ""]],
  ["devices", ["inputs", "devices"]],
]);

/** The types that a function takes, and the one it gives. */
export const FUNCTIONS = new Map<string, [takes: Type[], gives: Type]>([
  ["abs", [["number"], "number"]],
  ["log10", [["number"], "number"]],
  ["len", [["list", "text"], "number"]],
  ["isnan", [["number", "blob"], "truth"]],
  ["isinf", [["number", "blob"], "truth"]],
]);

export const isBlob = (thing: string): boolean => thing.startsWith(":");

/** Each thing and field that a condition asks for. */
export function mentioned(node: Node): Field[] {
  return node.kind === "field" ? [node] : children(node).flatMap(mentioned);
}

function children(node: Node): Node[] {
  switch (node.kind) {
    case "list":
      return node.items;
    case "negative":
    case "not":
      return [node.of];
    case "arithmetic":
      return [node.left, node.right];
    case "comparison":
      return [node.first, ...node.rest.map(([, value]) => value)];
    case "and":
    case "or":
      return node.parts;
    case "call":
      return [node.argument];
    default:
      return [];
  }
}
