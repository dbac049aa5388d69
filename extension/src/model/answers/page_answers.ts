// The answers that a page brings with it; see gradviz/notebook/page_answers.py. Equal parts stand there once: others have their numbers.

import { dictionary, list, optional, record, refuse, text, tuple, whole, type Reader } from "../schema/reader";
import { inPython, type Question } from "./asking";

/** From a position on, the number of the reply; null: the page has none. */
type Entry = [from: number, reply: number | null];

/** A question as it goes out, and the reply as it comes in. */
export type Answering = (question: Question) => Record<string, unknown>;

const entry: Reader<Entry> = tuple(whole(0), optional(whole(0)));

const rows = list(list(text));
const blocks: Reader<unknown[][]> = list((value, path) => (Array.isArray(value) ? (value as unknown[]) : refuse(path, "is no list")));
const numbers = list(whole(0));

/** Reads the answers from JSON text. Throws an Error whose message says what is wrong, and where. */
export function readPageAnswers(source: string): Answering {
  const document = record(JSON.parse(source), "answers");
  const rowTable = rows(document["rows"], "rows");
  const blockTable = blocks(document["blocks"], "blocks");
  const replies = list(record)(document["replies"], "replies");
  const asked = dictionary(list(entry))(document["asked"], "asked");

  const rowOf = (number: number): string[] => rowTable[number] ?? refuse("blocks", `names row ${number}, and there are ${rowTable.length}`);
  function block(number: number): unknown[] {
    const parts = blockTable[number] ?? refuse("replies", `names block ${number}, and there are ${blockTable.length}`);
    return parts[0] === "grid" ? [...parts.slice(0, 3), numbers(parts[3], "blocks").map(rowOf), parts[4]] : parts;
  }

  return (question) => {
    const entries = asked[JSON.stringify([question.question, ...question.arguments])] ?? [];
    const number = entries.filter(([from]) => from <= question.position).pop()?.[1] ?? null;
    if (number === null) return missing(question);
    const reply = replies[number] ?? refuse("asked", `names reply ${number}, and there are ${replies.length}`);
    return "problem" in reply ? reply : { ...reply, blocks: numbers(reply["blocks"], "replies").map(block) };
  };
}

/** What is said where the page has no answer. */
export function missing(question: Question): Record<string, unknown> {
  return { problem: "This page has no room for the answer.", ways_out: [`In Python, at event ${question.position}: ${inPython(question)}`] };
}
