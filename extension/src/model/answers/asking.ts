// Questions that a view puts to a session, and what it hears; see gradviz/notebook/asking.py.
//
// Stepping goes on while a question is on its way. Of what was asked meanwhile, only what somebody still waits for is
// asked then, the newest first: a kernel that was busy for a minute is not asked about each step of that minute.

import { list, messageOf, optional, record, refuse, text, tuple, type Reader } from "../schema/reader";

/** Moves the session, where the question comes from; what is said of that is the answer. */
export type Verb = "over" | "back_over" | "into" | "out" | "run_to" | "continue_" | "reverse_continue" | "other_clock";

/** What a person has the session do, where the question comes from; see gradviz/notebook/asking.py. */
export type Deed = "to_ssa" | "save" | "cells";

type Name = Verb | Deed | "still" | "advance" | "why_none" | "provenance" | "versions" | "check" | "checkable" | "state" | "paths" | "ledger" | "diff" | "numbers" | "watched";

/** A method of the session, asked at a position; the session stays where it is. */
export interface Question {
  question: Name;
  arguments: (string | number)[];
  position: number;
}

/** What an answer shows, from the top down. */
export type Block =
  | { kind: "paragraph"; text: string; isTitle: boolean }
  | { kind: "bullets"; items: string[] }
  | { kind: "grid"; title: string; head: string[]; rows: string[][]; foot: string };

/** An answer; of a check and of numbers with its plain data. */
interface Answer {
  blocks: Block[];
  data: Record<string, unknown> | null;
}

/** Why there is no answer, and the ways out. */
export interface Problem {
  problem: string;
  waysOut: string[];
  /** The reply that may come yet, where nothing was heard for long: to ask again can help. */
  late?: Promise<Reply>;
}

export type Reply = Answer | Problem;

/** Why there is no answer, and the ways out, in a text; empty where there is one. */
export function problemIn(reply: Reply): string {
  return "problem" in reply ? [reply.problem, ...reply.waysOut].join(" ") : "";
}

/** Puts a question to whoever can answer it. */
export type Ask = (question: Question) => Promise<Reply>;

/** Tells a reply and, where it was late, the one that has come behind it. */
export function onReply(reply: Promise<Reply>, tell: (reply: Reply) => void): void {
  void reply.then((first) => {
    tell(first);
    if ("late" in first) void first.late?.then(tell);
  });
}

/** The question as a person asks it in Python. */
export function inPython({ question, arguments: given }: Question): string {
  const method = question === "checkable" ? "check" : question === "watched" ? "watch" : question;
  return `session.${method}(${given.map((one) => JSON.stringify(one)).join(", ")})`;
}

const texts = list(text);
const grid = tuple(text, text, texts, list(texts), text);

/** A block is written as a row. */
const block: Reader<Block> = (value, path) => {
  if (!Array.isArray(value)) return refuse(path, "is no row of a block");
  const [kind, ...rest] = value as unknown[];
  if (kind === "paragraph") return { kind, text: text(rest[0], `${path}[1]`), isTitle: rest[1] === true };
  if (kind === "bullets") return { kind, items: texts(rest[0], `${path}[1]`) };
  if (kind !== "grid") return refuse(path, "is no block that is known");
  const [, title, head, rows, foot] = grid(value, path);
  return { kind, title, head, rows, foot };
};

const reply: Reader<Reply> = (value, path) => {
  const entry = record(value, path);
  if ("problem" in entry) return { problem: text(entry["problem"], `${path}.problem`), waysOut: texts(entry["ways_out"], `${path}.ways_out`) };
  return { blocks: list(block)(entry["blocks"], `${path}.blocks`), data: optional(record)(entry["data"], `${path}.data`) };
};

export const KERNEL_GONE: Problem = {
  problem: "The kernel behind this is gone, so nobody can answer. What was recorded can still be stepped through.",
  waysOut: ["Start the kernel again and run the cell of the session."],
};

/** A question, or its answer, can get lost on the way, and nobody tells: after so many milliseconds the view does. */
export const PATIENCE = 20_000;

const SILENCE = `No answer for ${PATIENCE / 1000} seconds: the kernel is busy, the answer takes long, or the question got lost. If an answer comes, it is shown here.`;

/** The reply or, when it takes too long, that nothing was heard; then the reply is there late. */
function patient(reply: Promise<Reply>): Promise<Reply> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ problem: SILENCE, waysOut: [], late: reply }), PATIENCE);
    void reply.then((answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}

/** A line to a kernel: what is asked goes out by `send`, which may throw where there is none any more, and `hear` takes in what comes back. */
export function createLine(send: (message: Record<string, unknown>) => void) {
  // Several views may hear what is said to one of them: each knows its own questions by their ids.
  const name = Math.random().toString(36).slice(2);
  const waiting = new Map<string, (reply: Reply) => void>();
  let asked = 0;

  function ask(question: Question): Promise<Reply> {
    const id = `${name}.${++asked}`;
    const reply = new Promise<Reply>((resolve) => {
      waiting.set(id, resolve);
      try {
        send({ type: "question", id, ...question });
      } catch {
        waiting.delete(id);
        resolve(KERNEL_GONE);
      }
    });
    return patient(reply);
  }

  function hear(message: unknown): void {
    const { id = "" } = (message ?? {}) as { id?: string };
    const resolve = waiting.get(id);
    if (!resolve) return;
    waiting.delete(id);
    try {
      resolve(reply(message, "answer"));
    } catch (error) {
      resolve({ problem: `The answer cannot be shown: ${messageOf(error)}.`, waysOut: [] });
    }
  }

  /** Nobody answers any more. */
  function cut(): void {
    for (const resolve of waiting.values()) resolve(KERNEL_GONE);
    waiting.clear();
  }

  return { ask, hear, cut };
}

export type Answers = ReturnType<typeof createAnswers>;

interface Wish {
  question: Question;
  isWanted: () => boolean;
  done: (reply: Reply) => void;
}

/** `put` asks; null: there is nobody to ask. */
export function createAnswers(put: Ask | null) {
  const heard = new Map<string, Reply>();
  const key = ({ question, arguments: given, position }: Question): string => JSON.stringify([question, position, ...given]);
  let wishes: Wish[] = [];
  /** The key of the question that is on its way. */
  let asking: string | null = null;

  function next(): void {
    if (asking !== null || put === null) return;
    wishes = wishes.filter((wish) => wish.isWanted());
    const wish = wishes.pop();
    if (!wish) return;
    const reply = heard.get(key(wish.question));
    if (reply) {
      wish.done(reply);
      return next();
    }
    asking = key(wish.question);
    void put(wish.question).then((reply) => {
      asking = null;
      tell(wish, reply);
      if ("late" in reply) void reply.late?.then((answer) => tell(wish, answer));
      if (reply === KERNEL_GONE) for (const other of wishes.splice(0)) other.done(reply);
      next();
    });
  }

  function tell({ question, isWanted, done }: Wish, reply: Reply): void {
    // Another kernel, or a second try, may have an answer where there was a problem.
    if ("blocks" in reply) heard.set(key(question), reply);
    if (isWanted()) done(reply);
  }

  return {
    /** What was answered before; undefined: it was not asked, or there was no answer. */
    reply: (question: Question) => heard.get(key(question)),
    /** Whether a question has been put, and there is no answer yet. */
    isAsked: (question: Question) => asking === key(question),
    /** Calls `done` with the reply, as soon as it is there and if it `isWanted` then; once more with one that comes late. */
    ask(question: Question, isWanted: () => boolean, done: (reply: Reply) => void) {
      const reply = heard.get(key(question));
      if (reply) return done(reply);
      const waysOut = [`In Python: session = gradviz.load(path); ${inPython(question)}`];
      if (put === null) return done({ problem: "There is no kernel behind this recording to ask.", waysOut });
      wishes.push({ question, isWanted, done });
      next();
    },
  };
}
