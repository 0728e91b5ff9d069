/** Yields the items of all sources in order of arrival. Ends after the end of all sources, or with the first error. */
export async function* merge<T>(sources: readonly AsyncIterable<T>[]): AsyncIterable<T> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  const pending = new Map(iterators.map((iterator, at) => [at, step(iterator, at)]));
  try {
    while (pending.size > 0) {
      const { at, result } = await Promise.race(pending.values());
      const iterator = iterators[at];
      // The next item of this source is the last in the race, so that a slow reader gets items of all sources.
      pending.delete(at);
      if (result.done || !iterator) continue;
      pending.set(at, step(iterator, at));
      yield result.value;
    }
  } finally {
    // Not awaited: an iterator that waits for its file ends when the caller's signal aborts.
    for (const iterator of iterators) void iterator.return?.();
  }
}

async function step<T>(
  iterator: AsyncIterator<T>,
  at: number,
): Promise<{ readonly at: number; readonly result: IteratorResult<T> }> {
  return { at, result: await iterator.next() };
}
