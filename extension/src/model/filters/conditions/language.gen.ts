// The words of conditions, made of those in gradviz/debugger/steering/conditions/language.py.

export type Type = "number" | "text" | "truth" | "list" | "event" | "op" | "blob" | "inputs";

/** Characters of a condition. */
export const LONGEST = 500;

/** Nodes that may lie one inside the other. */
export const DEEPEST = 32;

/** Numbers that are known of a blob. */
export const STATISTICS: readonly string[] = ["norm", "min", "max", "mean", "mean_abs", "nan", "inf", "subnormal", "zero", "size"];

/** What is known of things. */
export const FIELDS: Readonly<Record<string, Readonly<Record<string, Type>>>> = {"event": {"kind": "text", "phase": "text", "path": "text", "step": "number", "iteration": "number", "seconds": "number", "n": "number", "sparse": "number", "dense": "number"}, "op": {"type": "text", "index": "number", "role": "text", "name": "text", "device": "text"}, "blob": {"name": "text", "version": "number", "norm": "number", "min": "number", "max": "number", "mean": "number", "mean_abs": "number", "nan": "number", "inf": "number", "subnormal": "number", "zero": "number", "size": "number", "shape": "list", "dtype": "text", "device": "text"}, "inputs": {"nan": "number", "inf": "number", "subnormal": "number", "devices": "number"}};

/** The types of things. */
export const THINGS: Readonly<Record<string, Type>> = {"event": "event", "op": "op", "x": "blob", "g": "blob", "inputs": "inputs"};

/** What a word means. */
export const NAMES: Readonly<Record<string, readonly [string, string]>> = {"event": ["event", ""], "op": ["op", ""], "x": ["x", ""], "g": ["g", ""], "inputs": ["inputs", ""], "kind": ["event", "kind"], "phase": ["event", "phase"], "path": ["event", "path"], "step": ["event", "step"], "iteration": ["event", "iteration"], "seconds": ["event", "seconds"], "n": ["event", "n"], "sparse": ["event", "sparse"], "dense": ["event", "dense"], "version": ["x", "version"], "norm": ["x", "norm"], "min": ["x", "min"], "max": ["x", "max"], "mean": ["x", "mean"], "mean_abs": ["x", "mean_abs"], "nan": ["x", "nan"], "inf": ["x", "inf"], "subnormal": ["x", "subnormal"], "zero": ["x", "zero"], "size": ["x", "size"], "shape": ["x", "shape"], "dtype": ["x", "dtype"], "device": ["x", "device"], "blob": ["x", ""], "devices": ["inputs", "devices"]};

/** What a function takes and gives. */
export const FUNCTIONS: Readonly<Record<string, readonly [takes: readonly Type[], gives: Type]>> = {"abs": [["number"], "number"], "log10": [["number"], "number"], "len": [["list", "text"], "number"], "isnan": [["number", "blob"], "truth"], "isinf": [["number", "blob"], "truth"]};

/** What stands for a condition. */
export const PHRASES: Readonly<Record<string, string>> = {"accumulation": "n > 1", "sparse meets dense": "sparse > 0 and dense > 0", "device change": "devices > 1", "NaN": "nan > 0", "NaN appears": "nan > 0 and inputs.nan == 0", "Inf": "inf > 0", "Inf appears": "inf > 0 and inputs.inf == 0", "subnormal": "subnormal > 0", "subnormal appears": "subnormal > 0 and inputs.subnormal == 0"};
