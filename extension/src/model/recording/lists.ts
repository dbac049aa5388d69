// Sorted numbers to look things up in, and lists by keys.

/** The index behind the last of sorted numbers, or of items sorted by a number, that are at most `limit`. */
export function behind(sorted: ArrayLike<number>, limit: number): number;
export function behind<Item>(sorted: ArrayLike<Item>, limit: number, number: (item: Item) => number): number;
export function behind<Item>(sorted: ArrayLike<Item>, limit: number, number = (item: Item) => item as number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (number(sorted[middle] as Item) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Puts an item behind those that its key has. */
export function addTo<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
