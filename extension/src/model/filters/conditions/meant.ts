// Which word a word with a mistake in it may have been: those that are most alike, measured as Python's difflib does.

const ALIKE = 0.6;
const MOST = 2;

/** The question whether a word is one of these; "": it is like none of them. */
export function meant(word: string, words: Iterable<string>): string {
  const isNear = (one: string): boolean => 2 * Math.min(one.length, word.length) >= ALIKE * (one.length + word.length);
  const alike = [...new Set(words)].filter(isNear).map((one) => [(2 * common(one, word)) / (one.length + word.length), one] as const);
  const near = alike.filter(([ratio]) => ratio >= ALIKE).sort(([a, one], [b, other]) => b - a || (one < other ? 1 : -1));
  return near.length > 0 ? `Did you mean ${near.slice(0, MOST).map(([, one]) => one).join(" or ")}?` : "";
}

/** The characters of the longest piece that two texts have in common, and of those before and behind it. */
function common(a: string, b: string): number {
  let [start, end, length] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < b.length; j++) {
      let same = 0;
      while (i + same < a.length && a[i + same] === b[j + same]) same++;
      if (same > length) [start, end, length] = [i, j, same];
    }
  }
  return length === 0 ? 0 : length + common(a.slice(0, start), b.slice(0, end)) + common(a.slice(start + length), b.slice(end + length));
}
