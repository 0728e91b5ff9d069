/** The last piece of work by what it is about. */
const last = new Map<string, Promise<unknown>>();

/**
 * Runs pieces of work about one thing one after another, in the order of the calls, within this process.
 * Work about different keys is not held up. A piece that fails does not keep the next one from running.
 */
export function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = last.get(key) ?? Promise.resolve();
  const now = before.then(work, work);
  const settled = now
    .catch(() => undefined)
    .then(() => {
      if (last.get(key) === settled) last.delete(key);
    });
  last.set(key, settled);
  return now;
}
