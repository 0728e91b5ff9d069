import { setImmediate } from 'node:timers/promises';
import { LevelEngine, openStore } from 'kedge';
import { type BenchOptions, type Measurement, percentile } from '../measuring/measurement.js';
import { item, items, withDirectory } from '../measuring/objects.js';

const writers = 16;

/** Latencies of puts and gets during compaction, compared with those without it. */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  return withDirectory(async (directory) => {
    const store = await openStore({
      engine: new LevelEngine({ directory }),
      historyEvents: 1_000,
      historyAgeMs: 0,
    });
    const objects = quick ? 50 : 2_000;
    for (let n = 0; n < objects; n += 1) await store.create(items, item(n));
    let n = 0;
    const load = async (ms: number): Promise<{ put: number[]; get: number[] }> => {
      const found = { put: [] as number[], get: [] as number[] };
      const endsAt = performance.now() + ms;
      const loop = async (): Promise<void> => {
        while (performance.now() < endsAt) {
          const key = { namespace: 'default', name: `item-${(n += 1) % objects}` };
          const startedAt = performance.now();
          await store.updateStatus(items, key, { phase: String(n) });
          const writtenAt = performance.now();
          await store.get(items, key);
          found.put.push(writtenAt - startedAt);
          found.get.push(performance.now() - writtenAt);
        }
      };
      await Promise.all(Array.from({ length: writers }, loop));
      return found;
    };
    const ms = quick ? 100 : 1_500;
    await load(ms);
    const quiet = { put: [] as number[], get: [] as number[] };
    const busy = { put: [] as number[], get: [] as number[] };
    for (let round = 0; round < (quick ? 1 : 5); round += 1) {
      const calm = await load(ms);
      quiet.put.push(...calm.put);
      quiet.get.push(...calm.get);
      let running = true;
      const compacting = (async () => {
        while (running) {
          await store.compact();
          // Also if there is nothing to compact.
          await setImmediate();
        }
      })();
      const loaded = await load(ms);
      busy.put.push(...loaded.put);
      busy.get.push(...loaded.get);
      running = false;
      await compacting;
    }
    await store.close();
    return (['put', 'get'] as const).map((what): Measurement => {
      const value = percentile(busy[what], 0.99);
      const baseline = percentile(quiet[what], 0.99);
      return {
        name: `${what} p99 while compaction runs`,
        value,
        unit: 'ms',
        baseline: { what: 'quiet', value: baseline },
        ratio: value / baseline,
        better: 'lower',
        gate: 2,
      };
    });
  });
}
