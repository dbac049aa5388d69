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

/** Throws: `value` is something else than `what` has to be there. */
export function unlike(value: unknown, path: string, what: string): never {
  if (value === undefined) refuse(path, `is missing, ${what}`);
  if (value === null) refuse(path, `is null, ${what}`);
  if (Array.isArray(value)) refuse(path, `is a list, ${what}`);
  const text = typeof value === "object" ? "an object" : JSON.stringify(value);
  refuse(path, `is ${text.length > 40 ? `${text.slice(0, 40)}…` : text}, ${what}`);
}

export const text: Reader<string> = (value, path) => (typeof value === "string" ? value : unlike(value, path, "not a text"));

export const record: Reader<Record<string, unknown>> = (value, path) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : unlike(value, path, "not an object");

/** A whole number from `low` to `high`, both included. */
export function whole(low: number, high = Number.MAX_SAFE_INTEGER): Reader<number> {
  return (value, path) => {
    if (typeof value !== "number" || !Number.isInteger(value)) return unlike(value, path, "not a whole number");
    return value >= low && value <= high ? value : refuse(path, `is ${value}, outside ${low} to ${high}`);
  };
}

/** Most of a document are lists of texts and numbers: what is read as it stands there is not copied. */
export function list<T>(item: Reader<T>): Reader<T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) return unlike(value, path, "not a list");
    let read = value as T[];
    let index = 0;
    try {
      for (; index < value.length; index++) {
        const one = item(value[index], "");
        if (one === value[index]) continue;
        if (read === value) read = value.slice() as T[];
        read[index] = one;
      }
    } catch (error) {
      throw within(`${path}[${index}]`, error);
    }
    return read;
  };
}

/** A list of so many things, each of its own type. */
export function tuple<T extends unknown[]>(...readers: { [Index in keyof T]: Reader<T[Index]> }): Reader<T> {
  return (value, path) => {
    if (!Array.isArray(value) || value.length !== readers.length) return refuse(path, `is no list of ${readers.length}`);
    return readers.map((read, index) => read(value[index], `${path}[${index}]`)) as T;
  };
}

export function optional<T>(reader: Reader<T>): Reader<T | null> {
  return (value, path) => (value === null ? null : reader(value, path));
}

/** An object used as a dictionary. The result has no prototype: a blob may be called "constructor". */
export function dictionary<T>(item: Reader<T>, key: Reader<string> = text): Reader<Record<string, T>> {
  return (value, path) => {
    const entries = Object.create(null) as Record<string, T>;
    for (const [name, entry] of Object.entries(record(value, path))) {
      try {
        entries[key(name, "")] = item(entry, "");
      } catch (error) {
        throw within(`${path}[${JSON.stringify(name)}]`, error);
      }
    }
    return entries;
  };
}
