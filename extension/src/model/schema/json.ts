// Readers of untrusted JSON: each checks one type and, when it is wrong, throws with the path of the field.

export type Reader<T> = (value: unknown, path: string) => T;

/** What is wrong with a document, and where: the path is put together on the way out, since almost nothing is wrong. */
class Damage extends Error {
  readonly path: string;
  readonly problem: string;

  constructor(path: string, problem: string) {
    super(`this gradviz trace is damaged: ${path} ${problem}`);
    this.name = "Error";
    this.path = path;
    this.problem = problem;
  }
}

/** Throws: the field at `path` is not what it has to be. */
export function refuse(path: string, problem: string): never {
  throw new Damage(path, problem);
}

/** The same error, its path being one inside of `path`. */
export function within(path: string, error: unknown): unknown {
  if (!(error instanceof Damage) || path === "") return error;
  const point = error.path === "" || error.path.startsWith("[") ? "" : ".";
  return new Damage(path + point + error.path, error.problem);
}

/** What went wrong, in words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function described(value: unknown): string {
  if (value === undefined) return "is missing";
  if (value === null) return "is null";
  if (Array.isArray(value)) return "is a list";
  const text = typeof value === "object" ? "an object" : JSON.stringify(value);
  return `is ${text.length > 40 ? `${text.slice(0, 40)}…` : text}`;
}

export const text: Reader<string> = (value, path) =>
  typeof value === "string" ? value : refuse(path, `${described(value)}, not a text`);

export const record: Reader<Record<string, unknown>> = (value, path) =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : refuse(path, `${described(value)}, not an object`);

export const real: Reader<number> = (value, path) =>
  typeof value === "number" ? value : refuse(path, `${described(value)}, not a number`);

/** A whole number from `low` to `high`, both included. */
export function whole(low: number, high = Number.MAX_SAFE_INTEGER): Reader<number> {
  return (value, path) => {
    if (typeof value !== "number" || !Number.isInteger(value)) refuse(path, `${described(value)}, not a whole number`);
    if (value < low || value > high) refuse(path, `is ${value}, outside ${low} to ${high}`);
    return value;
  };
}

export function choice<T extends string>(choices: readonly T[]): Reader<T> {
  return (value, path) =>
    choices.includes(value as T) ? (value as T) : refuse(path, `${described(value)}, not one of ${choices.join(", ")}`);
}

export function list<T>(item: Reader<T>): Reader<T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) return refuse(path, `${described(value)}, not a list`);
    const read = new Array<T>(value.length);
    for (let index = 0; index < value.length; index++) {
      try {
        read[index] = item(value[index], "");
      } catch (error) {
        throw within(`${path}[${index}]`, error);
      }
    }
    return read;
  };
}

/** Something written as a row of its fields: `build` gets them one by one. */
export function row<T>(what: string, build: (cell: <F>(index: number, reader: Reader<F>) => F) => T): Reader<T> {
  return (value, path) => {
    if (!Array.isArray(value)) return refuse(path, `is no row of ${what}`);
    return build((index, reader) => reader(value[index], `${path}[${index}]`));
  };
}

export function optional<T>(reader: Reader<T>): Reader<T | null> {
  return (value, path) => (value === null ? null : reader(value, path));
}

/** An object used as a dictionary. The result has no prototype: a blob may be called "constructor". */
export function dictionary<T>(item: Reader<T>): Reader<Record<string, T>> {
  return (value, path) => {
    const entries = Object.create(null) as Record<string, T>;
    for (const [key, entry] of Object.entries(record(value, path))) {
      try {
        entries[key] = item(entry, "");
      } catch (error) {
        throw within(`${path}[${JSON.stringify(key)}]`, error);
      }
    }
    return entries;
  };
}

/** What a reader reads, or one that first has to know something. */
export type Read<R> = R extends (...given: never[]) => infer T ? (T extends Reader<infer Part> ? Part : T) : never;

/** Most of a document are lists of texts: those that are right are taken as they are. */
export const texts: Reader<string[]> = (value, path) =>
  Array.isArray(value) && value.every((one) => typeof one === "string") ? (value as string[]) : list(text)(value, path);

export const flag: Reader<boolean> = (value, path) => (typeof value === "boolean" ? value : refuse(path, "is neither true nor false"));
export const count = whole(0);
export const index = optional(count);
export const name = optional(text);

type Field = <F>(name: string, reader: Reader<F>) => F;
type LaterField = <F>(name: string, reader: Reader<F>, missing: F) => F;

/** A reader of one object: hands out its fields with their paths; `later` those that are left out where they say nothing, and those that older documents do not have. */
export function fields<T>(build: (field: Field, later: LaterField) => T): Reader<T> {
  return (value, path) => {
    const entry = record(value, path);
    try {
      return build(
        (name, reader) => reader(entry[name], name),
        (name, reader, missing) => (name in entry ? reader(entry[name], name) : missing),
      );
    } catch (error) {
      throw within(path, error);
    }
  };
}
