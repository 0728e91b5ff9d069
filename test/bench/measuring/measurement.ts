/** One line of the report. */
export interface Measurement {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The baseline measured in the same run; absent if the target is absolute. */
  readonly baseline?: { readonly what: string; readonly value: number };
  /** The figure for gate and goal: `value / baseline`, `value` itself, or for a delay `value - baseline`. */
  readonly ratio: number;
  readonly better: 'higher' | 'lower';
  readonly gate?: number;
  readonly goal?: number;
  /** Smallest and largest ratio of the rounds. */
  readonly spread?: readonly [number, number];
}

/** Options of a benchmark. */
export interface BenchOptions {
  /** A smoke test: everything runs, but the figures are meaningless. */
  readonly quick: boolean;
}

/** A benchmark; it runs in a separate process. */
export type Benchmark = (options: BenchOptions) => Promise<readonly Measurement[]>;

/** The median of the values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

/** The value that a share of the values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** Medians of value and baseline over interleaved rounds, with the median and spread of the ratios. */
export function compared(
  rounds: readonly { readonly value: number; readonly baseline: number }[],
): Pick<Measurement, 'value' | 'ratio' | 'spread'> & { readonly baselineValue: number } {
  const ratios = rounds.map(({ value, baseline }) => value / baseline);
  return {
    value: median(rounds.map((round) => round.value)),
    baselineValue: median(rounds.map((round) => round.baseline)),
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
  };
}

/** Whether a figure meets a target. */
export function meets(measurement: Measurement, target: number): boolean {
  return measurement.better === 'higher'
    ? measurement.ratio >= target
    : measurement.ratio <= target;
}
