import { closeSync, openSync, readSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';

interface Span {
  readonly from: number;
  readonly to: number;
}

interface Gap extends Span {
  /** Processor time of the thread of the event loop, milliseconds. */
  readonly cpuMs: number;
}

/**
 * Processor time of this thread, which excludes that of the threads which compile and collect garbage. It is read from
 * Linux; `process.threadCpuUsage` needs Node.js 24.
 */
class ThreadTime implements Disposable {
  readonly #file = openSync('/proc/thread-self/schedstat', 'r');
  readonly #buffer = Buffer.alloc(64);

  ms(): number {
    const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
    return Number.parseInt(this.#buffer.toString('latin1', 0, length), 10) / 1e6;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

/** The shortest gap that is noted, milliseconds. */
const gapMs = 2;
/** Between two readings of the processor time, milliseconds: that of a gap may contain as much from before it. */
const readingMs = 0.5;

/** The longest periods between two turns of the event loop. */
export interface Slices {
  /** Without garbage collection, milliseconds. */
  readonly longestMs: number;
  /** The same by processor time of the thread if that is less, which excludes the time of other processes. */
  readonly longestWorkMs: number;
  /** The longest pause of the garbage collector, milliseconds. */
  readonly longestGcMs: number;
}

/** Monitors the event loop while `work` runs: gaps between two turns, without garbage collection. */
export async function watchSlices(work: () => Promise<unknown>): Promise<Slices> {
  const pauses: Span[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      pauses.push({ from: startTime, to: startTime + duration });
  });
  observer.observe({ entryTypes: ['gc'] });
  const gaps: Gap[] = [];
  let running = true;
  let last = performance.now();
  using thread = new ThreadTime();
  let used = thread.ms();
  let readAt = last;
  const turn = (): void => {
    if (!running) return;
    const now = performance.now();
    const isLong = now - last > gapMs;
    // Not in every turn: that took a sixth of the time of the measured process.
    if (isLong || now - readAt > readingMs) {
      const usedNow = thread.ms();
      if (isLong) gaps.push({ from: last, to: now, cpuMs: usedNow - used });
      used = usedNow;
      readAt = now;
    }
    last = performance.now();
    setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  // The collector's entries arrive in a later turn.
  await new Promise((resolve) => setTimeout(resolve, 50));
  running = false;
  observer.disconnect();
  const overlap = (gap: Span): number =>
    pauses.reduce(
      (sum, pause) =>
        sum + Math.max(0, Math.min(gap.to, pause.to) - Math.max(gap.from, pause.from)),
      0,
    );
  const lengthOf = (gap: Span): number => gap.to - gap.from - overlap(gap);
  return {
    longestMs: Math.max(0, ...gaps.map(lengthOf)),
    longestWorkMs: Math.max(0, ...gaps.map((gap) => Math.min(lengthOf(gap), gap.cpuMs))),
    longestGcMs: Math.max(0, ...pauses.map((pause) => pause.to - pause.from)),
  };
}
