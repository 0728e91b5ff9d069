interface Head<T> {
  readonly item: T;
  readonly time: string;
  readonly source: AsyncIterator<T>;
}

/**
 * Items of all sources in the order of their times; the items of one source keep their order. An item without a time
 * follows the item before it. If a source fails, its error is thrown after the items of the others.
 * @param timeOf the time in RFC 3339 and UTC; empty if unknown
 */
export async function* inOrderOfTime<T>(
  sources: readonly AsyncIterable<T>[],
  timeOf: (item: T) => string,
): AsyncIterable<T> {
  const failures: unknown[] = [];
  const headOf = async (source: AsyncIterator<T>): Promise<Head<T> | undefined> => {
    try {
      const next = await source.next();
      if (next.done === true) return undefined;
      return { item: next.value, time: timeOf(next.value), source };
    } catch (error) {
      failures.push(error);
      return undefined;
    }
  };
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  try {
    const heads = await Promise.all(iterators.map(headOf));
    for (;;) {
      const at = earliest(heads);
      const head = heads[at];
      if (!head) break;
      yield head.item;
      heads[at] = await headOf(head.source);
    }
    if (failures.length > 0) throw failures[0];
  } finally {
    // The reader has left, or has its error.
    for (const iterator of iterators) iterator.return?.().catch(() => undefined);
  }
}

/** The index of the earliest head, the first of several; -1 if there is none. */
function earliest(heads: readonly (Head<unknown> | undefined)[]): number {
  let found = -1;
  for (const [at, head] of heads.entries())
    if (head && (found < 0 || head.time < (heads[found]?.time ?? ''))) found = at;
  return found;
}
