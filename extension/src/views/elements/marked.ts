// Sentences in which code stands between backticks.

import { code, type Child } from "./dom";

/** The sentence, what is between backticks as code. */
export function marked(sentence: string): Child[] {
  return sentence.split("`").map((part, index) => (index % 2 === 0 ? part : code(part)));
}
