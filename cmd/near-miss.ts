/** Maximum edit distance of a suggestion. */
const distanceMax = 2;

/** Longer words are not compared: typed words are shorter, and the work is quadratic. */
const lengthMax = 253;

/**
 * The edit distance of two texts (optimal string alignment): inserted, deleted and replaced characters, and swapped
 * neighbours. `max + 1` if it exceeds `max`.
 */
function distance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max || a.length > lengthMax) return max + 1;
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      next.push(least);
    }
    if (Math.min(...next) > max) return max + 1;
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}

/**
 * The known word nearest to an unknown one, ignoring case; undefined if none is near. Near means at most two changes,
 * and at most one per three characters of `word`.
 */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let found: { readonly word: string; readonly far: number } | undefined;
  const wanted = word.toLowerCase();
  const max = Math.min(distanceMax, Math.floor(wanted.length / 3));
  for (const other of known) {
    const far = distance(wanted, other.toLowerCase(), max);
    if (far <= max && far < (found?.far ?? Infinity)) found = { word: other, far };
  }
  return found?.word;
}

/** `; did you mean WORD?`, or the empty text if no known word is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const meant = nearest(word, known);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}
