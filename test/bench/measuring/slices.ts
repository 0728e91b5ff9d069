import { PerformanceObserver } from 'node:perf_hooks';

interface Span {
  readonly from: number;
  readonly to: number;
}

interface Gap extends Span {
  /** What the process used meanwhile, milliseconds. */
  readonly cpuMs: number;
}

/** The longest stretches in which the event loop had no turn. */
export interface Slices {
  /** Without the garbage collection in it, milliseconds. */
  readonly longestMs: number;
  /** The same by processor time, where that is less: what other processes took is not in it. */
  readonly longestWorkMs: number;
  /** The longest pause of the garbage collector, milliseconds. */
  readonly longestGcMs: number;
}

/** Watches the event loop while `work` runs: gaps between two turns, garbage collection apart. */
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
  // The collector's entries come in a later turn.
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
