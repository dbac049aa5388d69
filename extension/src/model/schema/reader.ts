// Reads untrusted JSON as a table says that comes from the structs in Python: a default is filled in where something is
// left out, and what is not in the table, or breaks a rule of it, is refused. A change of a struct changes nothing here.

import { TABLE, type Marked, type WrittenTrace } from "./trace.gen";

export type Reader<T> = (value: unknown, path: string) => T;

/** What is wrong with a document, and where: the path is put together on the way out, since almost nothing is wrong. */
class Damage extends Error {
  constructor(readonly path: string, readonly problem: string) {
    super(`this gradviz trace is damaged: ${path} ${problem}`);
    this.name = "Error";
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
function unlike(value: unknown, path: string, what: string): never {
  if (value === undefined) refuse(path, `is missing, ${what}`);
  if (value === null) refuse(path, `is null, ${what}`);
  if (Array.isArray(value)) refuse(path, `is a list, ${what}`);
  const text = typeof value === "object" ? "an object" : JSON.stringify(value);
  refuse(path, `is ${text.length > 40 ? `${text.slice(0, 40)}…` : text}, ${what}`);
}

export const text: Reader<string> = (value, path) => (typeof value === "string" ? value : unlike(value, path, "not a text"));

export const record: Reader<Record<string, unknown>> = (value, path) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : unlike(value, path, "not an object");

/** A whole number that is at least `low`. */
export function whole(low: number): Reader<number> {
  return (value, path) => {
    if (typeof value !== "number" || !Number.isInteger(value)) return unlike(value, path, "not a whole number");
    return value >= low && Number.isSafeInteger(value) ? value : refuse(path, `is ${value}, outside ${low} to ${Number.MAX_SAFE_INTEGER}`);
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

/** See tests/debugger/document/typescript.py. */
type Type = string | Shape;
type Field = Type | readonly [type: Type, missing: unknown];
interface Shape {
  readonly least?: number;
  readonly most?: number;
  readonly of?: Type;
  readonly list?: Type;
  readonly map?: Type;
  readonly keys?: Type;
  readonly row?: readonly Type[];
  readonly one?: readonly unknown[];
  readonly either?: Readonly<Record<string, Type>>;
  readonly isRow?: boolean;
  readonly fields?: Readonly<Record<string, Field>>;
}
const SHAPES: Readonly<Record<string, Shape>> = TABLE;

/** What a document has, by the names of the rules: how many there are of what has a number, and what reads a name. */
export interface Parts {
  counts: Readonly<Record<string, number>>;
  names: Readonly<Record<string, Reader<string>>>;
}

type Readers = (type: Type, rule?: string) => Reader<unknown>;

/** Throws where `value` is not what the table says, or refers to what is not there. */
export const readTrace = (value: unknown, parts: Parts): WrittenTrace => readersFor(parts)("WrittenTrace")(value, "") as WrittenTrace;

/** Breakpoints and watches as a kernel tells them apart from a document. */
export const readMarks = (value: unknown): Marked => readersFor({ counts: {}, names: {} })("Marked")(value, "marks") as Marked;

/** What reads types in a document that has these parts; a rule around a type is its own. */
function readersFor({ counts, names }: Parts): Readers {
  const readers = new Map<string, Reader<unknown>>();
  const ruled: Record<string, (rule: string) => Reader<unknown> | undefined> = {
    text: (rule) => names[rule],
    whole: (rule) => (counts[rule] === undefined ? undefined : numberOf(rule, counts[rule])),
  };
  function readerOf(type: Type, around = ""): Reader<unknown> {
    if (typeof type !== "string") return shaped(type, around, readerOf);
    if (type.startsWith("?")) return optional(readerOf(type.slice(1), around));
    const [name = "", rule = around] = type.split(" ");
    const key = `${name} ${rule}`;
    const make = rule === "" ? undefined : ruled[name];
    const reader = readers.get(key) ?? (make ? make(rule) : (LEAVES[name] ?? shaped(SHAPES[name] ?? {}, rule, readerOf)));
    if (!reader) throw new Error(`the schema of a trace has a rule that is not known here: ${key}`);
    readers.set(key, reader);
    return reader;
  }
  return readerOf;
}

const LEAVES: Readonly<Record<string, Reader<unknown>>> = {
  text,
  whole: whole(-Number.MAX_SAFE_INTEGER),
  real: (value, path) => (Number.isFinite(value) ? value : unlike(value, path, "not a number")),
  flag: (value, path) => (typeof value === "boolean" ? value : unlike(value, path, "neither true nor false")),
  null: (value, path) => (value === null ? value : unlike(value, path, "not null")),
  any: (value, path) => (value !== undefined ? value : unlike(value, path, "not anything")),
};

function numberOf(rule: string, count: number): Reader<number> {
  const index = whole(0);
  return (value, path) => {
    const number = index(value, path);
    return number < count ? number : refuse(path, `is ${number}, and there are ${count} ${rule}`);
  };
}

function shaped(shape: Shape, rule: string, readerOf: Readers): Reader<unknown> {
  if (shape.fields) return part(shape.fields, shape.isRow === true, (type) => readerOf(type, rule));
  if (shape.list !== undefined) return list(readerOf(shape.list, rule));
  if (shape.map === "any") return record;
  if (shape.map !== undefined) return dictionary(readerOf(shape.map, rule), readerOf(shape.keys ?? "text") as Reader<string>);
  if (shape.row) return tuple(...shape.row.map((type) => readerOf(type, rule)));
  if (shape.either) return either(Object.entries(shape.either).map(([kind, type]) => [kind, readerOf(type, rule)]));
  if (shape.of !== undefined) return limited(shape.most ?? 0, readerOf(shape.of, rule));
  if (shape.one) return choice(shape.one);
  return whole(shape.least ?? 0);
}

function choice(choices: readonly unknown[]): Reader<unknown> {
  return (value, path) => (choices.includes(value) ? value : unlike(value, path, `not one of ${choices.join(", ")}`));
}

/** A list or a text of at most this length. */
function limited(most: number, reader: Reader<unknown>): Reader<unknown> {
  return (value, path) => {
    const read = reader(value, path) as string | unknown[];
    return read.length > most ? refuse(path, `has the length ${read.length}, more than ${most}`) : read;
  };
}

/** What JSON has there says which of the types it is; where it is none of them, the first one refuses it. */
function either(types: [kind: string, reader: Reader<unknown>][]): Reader<unknown> {
  const readers = new Map(types);
  const first = types[0]?.[1] ?? choice([]);
  return (value, path) => (readers.get(value === null ? "null" : Array.isArray(value) ? "list" : typeof value) ?? first)(value, path);
}

/** An object or, as a row, the list of its fields. All have their fields in one order, so they are quickly read later. */
function part(fields: NonNullable<Shape["fields"]>, isRow: boolean, readerOf: (type: Type) => Reader<unknown>): Reader<unknown> {
  // By JSON, for what is put together field by field can become a slow dictionary.
  const missing = JSON.parse(JSON.stringify(fields)) as Record<string, unknown>;
  const cells = new Map<string, { name: string; read: Reader<unknown> }>();
  const required: string[] = [];
  Object.entries(fields).forEach(([name, field], index) => {
    const key = isRow ? String(index) : name;
    const [type, given] = (Array.isArray(field) ? field : [field]) as [Type, unknown?];
    const read = readerOf(type);
    cells.set(key, { name, read });
    if (given === undefined) required.push(key);
    missing[name] = given === undefined ? undefined : Object.freeze(read(given, name));
  });
  return (value, path) => {
    const entry = (isRow && Array.isArray(value) ? value : isRow ? unlike(value, path, "not a list") : record(value, path)) as Record<string, unknown>;
    const read = { ...missing };
    let key = "";
    try {
      for (key in entry) {
        const cell = cells.get(key) ?? refuse("", "is no field that is known");
        read[cell.name] = cell.read(entry[key], "");
      }
      for (key of required) if (!(key in entry)) cells.get(key)?.read(undefined, "");
    } catch (error) {
      throw within(path, within(isRow ? `[${key}]` : key, error));
    }
    return read;
  };
}
