// Reads untrusted JSON as a table says that is made from the structs in Python: a default is filled in where something is
// left out, and what is not in the table, or breaks a rule of it, is refused. A change of a struct changes nothing here.

import { dictionary, list, optional, record, refuse, text, tuple, unlike, whole, within, type Reader } from "./json";
import { TABLE, type Marked, type WrittenTrace } from "./trace.gen";

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
  const known = new Map<string, Reader<unknown>>();
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
    const reader = known.get(key) ?? (make ? make(rule) : (LEAVES[name] ?? shaped(SHAPES[name] ?? {}, rule, readerOf)));
    if (!reader) throw new Error(`the schema of a trace has a rule that is not known here: ${key}`);
    known.set(key, reader);
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
    const found = index(value, path);
    return found < count ? found : refuse(path, `is ${found}, and there are ${count} ${rule}`);
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
    const { length } = reader(value, path) as string | unknown[];
    return length > most ? refuse(path, `has the length ${length}, more than ${most}`) : value;
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
