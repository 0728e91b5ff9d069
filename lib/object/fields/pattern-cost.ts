/** Maximum number of ways in which a pattern may be matched against one value. */
const waysMax = 1_000_000;

interface Group {
  /** Whether the expression can match in more than one way. */
  varies: boolean;
  alternatives: number;
}

/** Length of the escape sequence at `at`: `\d`, `\x41`, `\u0041`, `\u{1F600}`, `\p{L}`. */
function escapeLength(pattern: string, at: number): number {
  const rest = pattern.slice(at);
  return (
    /^\\(?:[pPu]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|.)/su.exec(rest)?.[0].length ??
    1
  );
}

function classLength(pattern: string, at: number): number {
  let end = at + 1;
  while (end < pattern.length && pattern[end] !== ']') end += pattern[end] === '\\' ? 2 : 1;
  return end + 1 - at;
}

/** The repetitions of the quantifier at `at`; undefined if there is none. */
function quantifierAt(
  pattern: string,
  at: number,
): { readonly min: number; readonly max: number; readonly length: number } | undefined {
  const found = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(pattern.slice(at));
  if (!found) return undefined;
  const [text, sign, low, comma, high] = found;
  const { length } = text;
  if (sign === '?') return { min: 0, max: 1, length };
  if (sign !== undefined) return { min: sign === '+' ? 1 : 0, max: Infinity, length };
  const min = Number(low);
  return { min, max: comma === '' ? min : high === '' ? Infinity : Number(high), length };
}

/**
 * The reason why a pattern could be slow on a value of at most `maxLength` characters; undefined if it can't. A
 * backtracking engine tries at most the product of repetitions and alternatives, if no repetition contains another
 * choice. Such nested choices are refused, and the product is bounded.
 */
export function patternProblem(pattern: string, maxLength: number): string | undefined {
  try {
    new RegExp(pattern, 'u');
  } catch (error) {
    return error instanceof Error ? error.message : 'is not a regular expression';
  }
  let ways = 1;
  // An alternative without ^ is tried at every position of the value.
  let anchored = pattern.startsWith('^');
  const outer: Group = { varies: false, alternatives: 1 };
  const open: Group[] = [outer];
  for (let at = 0; at < pattern.length; ) {
    const group = open.at(-1) ?? outer;
    const char = pattern[at];
    let atom: Group = { varies: false, alternatives: 1 };
    if (char === '(') {
      const prefix = /^\((?:\?(?::|<[A-Za-z_]\w*>))?/.exec(pattern.slice(at))?.[0] ?? '(';
      if (prefix === '(' && pattern[at + 1] === '?')
        return 'uses lookaround; match the value itself';
      open.push(atom);
      at += prefix.length;
      continue;
    }
    if (char === '|') {
      group.alternatives += 1;
      if (group === outer && pattern[at + 1] !== '^') anchored = false;
      at += 1;
      continue;
    }
    if (char === ')') {
      open.pop();
      atom = group;
      ways *= group.alternatives;
      at += 1;
    } else if (char === '\\') {
      if (/[1-9k]/.test(pattern[at + 1] ?? '')) return 'uses a back reference';
      at += escapeLength(pattern, at);
    } else {
      at += char === '[' ? classLength(pattern, at) : 1;
    }
    const varies = atom.varies || atom.alternatives > 1;
    const parent = open.at(-1) ?? outer;
    if (varies) parent.varies = true;
    const quantifier = quantifierAt(pattern, at);
    if (!quantifier) continue;
    const { min, max, length } = quantifier;
    at += length;
    if (max > 1 && varies)
      return 'repeats a group that holds a repetition or alternatives, which can take exponential time';
    if (max > min) parent.varies = true;
    ways *= Math.min(max, maxLength) - Math.min(min, maxLength) + 1;
  }
  ways *= outer.alternatives * (anchored ? 1 : maxLength);
  if (ways <= waysMax) return undefined;
  return `can be tried in ${ways} ways on ${maxLength} characters, more than ${waysMax}; anchor it (each alternative) with ^, lower maxLength, or check the value in a validate rule`;
}
