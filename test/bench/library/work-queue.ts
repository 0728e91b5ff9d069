import { WorkQueue } from 'kedge';
import { type BenchOptions, compared, type Measurement } from '../measuring/measurement.js';

/** The baseline of the queue: a Map of states and a ring, without delays, priorities or limits. */
class PlainQueue {
  readonly #states = new Map<string, number>();
  #ring: (string | undefined)[] = [];
  #head = 0;

  add(key: string): void {
    const state = this.#states.get(key);
    if (state !== undefined) {
      if (state === 1) this.#states.set(key, 2);
      return;
    }
    this.#states.set(key, 0);
    this.#ring.push(key);
  }

  tryGet(): string | undefined {
    const key = this.#ring[this.#head];
    if (key === undefined) return undefined;
    this.#ring[this.#head] = undefined;
    this.#head += 1;
    this.#states.set(key, 1);
    return key;
  }

  done(key: string): void {
    const state = this.#states.get(key);
    this.#states.delete(key);
    if (state !== 2) return;
    this.#states.set(key, 0);
    this.#ring.push(key);
  }
}

type Phase = 'add' | 'add again' | 'get and done';

function measure(
  queue: PlainQueue | WorkQueue<string>,
  keys: readonly string[],
): Record<Phase, number> {
  const perSecond = (work: () => void): number => {
    const startedAt = performance.now();
    work();
    return (keys.length / (performance.now() - startedAt)) * 1_000;
  };
  const add = (): void => {
    for (const key of keys) queue.add(key);
  };
  return {
    add: perSecond(add),
    'add again': perSecond(add),
    'get and done': perSecond(() => {
      for (let key = queue.tryGet(); key !== undefined; key = queue.tryGet()) queue.done(key);
    }),
  };
}

/** Adds, adds again, gets and finishes a million string keys. */
export function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const count = quick ? 10_000 : 1_000_000;
  const keys = Array.from({ length: count }, (_, n) => `namespace-${n % 50}/object-${n}`);
  const rounds: { readonly ours: Record<Phase, number>; readonly plain: Record<Phase, number> }[] =
    [];
  for (let round = 0; round < (quick ? 1 : 7); round += 1) {
    global.gc?.();
    const plain = measure(new PlainQueue(), keys);
    global.gc?.();
    const ours = measure(new WorkQueue<string>(), keys);
    // The first round includes compilation.
    if (round > 0 || quick) rounds.push({ plain, ours });
  }
  const phases: readonly Phase[] = ['add', 'add again', 'get and done'];
  return Promise.resolve(
    phases.map((phase) => {
      const found = rounds.map(({ ours, plain }) => ({
        value: ours[phase],
        baseline: plain[phase],
      }));
      const { baselineValue, ...rest } = compared(found);
      return {
        name: `work queue, ${count.toLocaleString('en')} keys: ${phase}`,
        unit: 'keys/s',
        baseline: { what: 'a plain Map and ring', value: baselineValue },
        better: 'higher' as const,
        gate: 0.7,
        ...rest,
      };
    }),
  );
}
