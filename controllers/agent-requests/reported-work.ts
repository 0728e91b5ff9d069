import type { Clock } from 'kedge';
import type { JsonObject } from 'kedge/rpc';

/** Interval of the reports of an agent that works. The server waits for three of them. */
const reportMs = 30_000;

/** Time until the next answer of an agent that reports its work. */
export const reportedWithinMs = 3 * reportMs;

/**
 * The answers of an agent that works without a time limit: `begun` at the start and again at intervals, so that the
 * server notices an agent that hangs; the newest text of the work, and its result. Texts that a slow reader misses are
 * dropped.
 */
export async function* reported(
  clock: Clock,
  work: (onText: (text: string) => void) => Promise<JsonObject>,
): AsyncIterable<JsonObject> {
  let text = '';
  let wake: () => void = () => undefined;
  let isDone = false;
  const working = work((progress) => {
    text = progress;
    wake();
  }).finally(() => {
    isDone = true;
    wake();
  });
  working.catch(() => undefined);
  yield { begun: true };
  for (;;) {
    if (!isDone && text === '') {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const report = clock.setTimer(() => wake(), reportMs);
      await woken;
      report.cancel();
    }
    if (isDone) break;
    const progress = text;
    text = '';
    yield progress === '' ? { begun: true } : { progress };
  }
  yield await working;
}
