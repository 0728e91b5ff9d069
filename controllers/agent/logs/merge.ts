/** The outcome of the last call of a source. */
type Arrived<T> = { readonly source: AsyncIterator<T> } & (
  | { readonly result: IteratorResult<T> }
  | { readonly error: unknown }
);

/** Yields the items of all sources in order of arrival. Ends after the end of all sources, or with the first error. */
export async function* merge<T>(sources: readonly AsyncIterable<T>[]): AsyncIterable<T> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  /**
   * In order of arrival, at most one of each source. Not a race of promises: each race would keep memory at the promise
   * of a silent source, and an error that arrives between two races would end the process.
   */
  const arrived: Arrived<T>[] = [];
  let wake: () => void = () => undefined;
  const take = (outcome: Arrived<T>): void => {
    arrived.push(outcome);
    wake();
  };
  const ask = (source: AsyncIterator<T>): void =>
    void source.next().then(
      (result) => take({ source, result }),
      (error: unknown) => take({ source, error }),
    );
  for (const iterator of iterators) ask(iterator);
  try {
    for (let open = iterators.length; open > 0; ) {
      const next = arrived.shift();
      if (!next)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      else if ('error' in next) throw next.error;
      else if (next.result.done === true) open -= 1;
      else {
        ask(next.source);
        yield next.result.value;
      }
    }
  } finally {
    // Not awaited: an iterator that waits for its file ends when the caller's signal aborts.
    for (const iterator of iterators) iterator.return?.().catch(() => undefined);
  }
}
