// The answers that a debugger has heard, and one question at a time for those that it has not.
//
// Stepping goes on while a question is on its way. Of what was asked meanwhile, only what somebody still waits for is
// asked then, the newest first: a kernel that was busy for a minute is not asked about each step of that minute.

import { inPython, KERNEL_GONE, type Ask, type Question, type Reply } from "./asking";

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
  let isAsking = false;

  function next(): void {
    if (isAsking || put === null) return;
    wishes = wishes.filter((wish) => wish.isWanted());
    const wish = wishes.pop();
    if (!wish) return;
    isAsking = true;
    void put(wish.question).then((reply) => {
      isAsking = false;
      tell(wish, reply);
      if ("late" in reply) void reply.late?.then((found) => tell(wish, found));
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
    /** Whether there is somebody who can be asked. */
    canAsk: put !== null,
    /** What was answered before; undefined: it was not asked, or there was no answer. */
    known: (question: Question) => heard.get(key(question)),
    /** Calls `done` with the reply, as soon as it is there and if it `isWanted` then; once more with one that comes late. */
    ask(question: Question, isWanted: () => boolean, done: (reply: Reply) => void) {
      const known = heard.get(key(question));
      if (known) return done(known);
      if (put === null) return done(nobody(question));
      wishes.push({ question, isWanted, done });
      next();
    },
  };
}

function nobody(question: Question): Reply {
  return { problem: "There is no kernel behind this recording to ask.", waysOut: [`In Python: session = gradviz.load(path); ${inPython(question)}`] };
}
