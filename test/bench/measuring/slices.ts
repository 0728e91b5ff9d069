import { PerformanceObserver } from 'node:perf_hooks';

interface Span {
  readonly from: number;
  readonly to: number;
}

interface Gap extends Span {
  /** Processor time of the process during the measurement, milliseconds. */
  readonly cpuMs: number;
}

/** The longest periods in which the event loop had no turn. */
export interface Slices {
  /** Without garbage collection, milliseconds. */
  readonly longestMs: number;
  /** The same by processor time if that is less, which excludes the time of other processes. */
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
  let used = process.cpuUsage();
  const turn = (): void => {
    const now = performance.now();
    if (now - last > 2) {
      const { user, system } = process.cpuUsage(used);
      gaps.push({ from: last, to: now, cpuMs: (user + system) / 1_000 });
    }
    last = now;
    used = process.cpuUsage();
    if (running) setImmediate(turn);
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
