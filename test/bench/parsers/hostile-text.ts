import type { Random } from 'kedge';

/** A growing input: the same shape at every size. */
export interface HostileInput {
  /** The repeated part with its prefix and suffix; for reports. */
  readonly shape: string;
  /** About `length` characters. */
  readonly make: (length: number) => string;
}

function some(random: Random, tokens: readonly string[], max: number): string {
  const count = Math.floor(random.next() * (max + 1));
  return Array.from(
    { length: count },
    () => tokens[Math.floor(random.next() * tokens.length)] ?? '',
  ).join('');
}

/**
 * An input from the tokens of a grammar: a beginning, a few repeated tokens, and an end that may not match.
 * Backtracking and nested searches take quadratic time on inputs of this form.
 */
export function hostileInput(random: Random, tokens: readonly string[]): HostileInput {
  const before = some(random, tokens, 2);
  let unit = '';
  while (unit === '') unit = some(random, tokens, 3);
  const after = some(random, tokens, 2);
  return {
    shape: JSON.stringify([before, unit, after]),
    make: (length) => {
      const left = length - before.length - after.length;
      return before + unit.repeat(Math.max(1, Math.floor(left / unit.length))) + after;
    },
  };
}
