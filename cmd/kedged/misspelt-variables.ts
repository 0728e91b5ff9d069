import type { FieldViolation } from 'kedge';

/** A name this near to a known one, in characters to change, is meant to be that one. */
const distanceMax = 2;

/** How many characters must be added, taken out or replaced to make one text of the other (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/**
 * Environment variables that set nothing and look like one that does. Others of the prefix are left alone:
 * they may be somebody else's, such as a driver's.
 */
export function misspeltVariables(
  environment: Readonly<Record<string, string | undefined>>,
  known: ReadonlySet<string>,
): readonly FieldViolation[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('KEDGE') && !known.has(name))
    .flatMap((name) => {
      const meant = [...known].find((other) => distance(name, other) <= distanceMax);
      if (meant === undefined) return [];
      return [{ field: name, description: `is not a setting; did you mean ${meant}?` }];
    });
}
