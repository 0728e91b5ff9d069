/** The callers that wait for a cache to reach a revision. */
export class RevisionWaiters {
  readonly #waiters = new Set<{ readonly revision: number; readonly resolve: () => void }>();

  /** Resolves when the cache is at `revision` or later, or when the signal aborts. */
  wait(revision: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        signal.removeEventListener('abort', finish);
        this.#waiters.delete(waiter);
        resolve();
      };
      const waiter = { revision, resolve: finish };
      this.#waiters.add(waiter);
      signal.addEventListener('abort', finish, { once: true });
    });
  }

  /** Resolves the waits for `revision` or earlier. */
  reached(revision: number): void {
    for (const waiter of this.#waiters) if (waiter.revision <= revision) waiter.resolve();
  }
}
