import { join } from 'node:path';
import { done, keyString, newController, type ObjectStore, SharedInformer } from 'kedge';
import { rate } from '../measuring/load.js';
import { type BenchOptions, compared, type Measurement } from '../measuring/measurement.js';
import { item, type Item, items, openLevelStore, withDirectory } from '../measuring/objects.js';

const steps = ['1', '2', '3'];

/** Objects per second that are created and then changed three times by a controller. */
async function converge(
  store: ObjectStore,
  workers: number,
  from: number,
  count: number,
): Promise<number> {
  const informer = new SharedInformer({ source: store.source(items), name: 'items', kind: 'Item' });
  const last = steps.at(-1);
  let converged = 0;
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const controller = newController({
    name: 'bench',
    concurrency: workers,
    reconcile: async ({ key }) => {
      const object = informer.lister.get(keyString(key));
      const phase = steps[steps.indexOf(object?.phase ?? '') + 1];
      if (!object || phase === undefined) return done();
      await store.updateStatus(items, key, { phase });
      if (phase === last && (converged += 1) === count) finish();
      return done();
    },
  }).for(informer, (before: Item, object) => before.phase !== object.phase);
  informer.start();
  await controller.start();
  const startedAt = performance.now();
  let next = from;
  const creator = async (): Promise<void> => {
    while (next < from + count) await store.create(items, item((next += 1)));
  };
  await Promise.all([...Array.from({ length: workers }, creator), finished]);
  const seconds = (performance.now() - startedAt) / 1_000;
  await controller.stop(1_000);
  await informer.close();
  return count / seconds;
}

/**
 * The converge rate relative to the store's write rate at the same concurrency, divided by the four writes per
 * object.
 */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  for (const workers of [16, 64]) {
    const found: { value: number; baseline: number }[] = [];
    for (let round = 0; round < (quick ? 1 : 5); round += 1) {
      await withDirectory(async (directory) => {
        // Separate stores: the data of one round must not slow the next.
        const raw = await openLevelStore(join(directory, 'raw'));
        let n = 0;
        const write = (): Promise<unknown> => raw.create(items, item((n += 1)));
        await rate(workers, quick ? 20 : 500, write);
        const writes = await rate(workers, quick ? 50 : 1_500, write);
        await raw.close();
        const store = await openLevelStore(join(directory, 'store'));
        if (!quick) await converge(store, workers, 1_000_000, 1_000);
        const value = await converge(store, workers, 0, quick ? 100 : 8_000);
        await store.close();
        found.push({ value, baseline: writes / 4 });
      });
    }
    const { baselineValue, ...rest } = compared(found);
    measurements.push({
      name: `converge, ${workers} workers`,
      unit: 'objects/s',
      baseline: { what: 'store writes/s at that concurrency, divided by 4', value: baselineValue },
      better: 'higher',
      gate: 0.6,
      goal: 0.9,
      ...rest,
    });
  }
  return measurements;
}
