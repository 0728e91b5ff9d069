import { type Clock, sleep } from 'kedge';

/** The callers that wait for the next change of a workload. */
export class ChangeWaits {
  readonly #clock: Clock;
  readonly #waiting = new Set<(id: string) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wakes the callers that wait for a change of the workload. */
  changed(id: string): void {
    for (const wake of this.#waiting) wake(id);
  }

  /** Resolves at the next change of the workload, after `longestMs`, or when the signal aborts. */
  async next(id: string, longestMs: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const end = (): void => over.abort();
    const wake = (changed: string): void => {
      if (changed === id) end();
    };
    this.#waiting.add(wake);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    await sleep(this.#clock, longestMs, over.signal);
    signal.removeEventListener('abort', end);
    this.#waiting.delete(wake);
  }
}
