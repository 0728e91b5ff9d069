import { join } from 'node:path';
import { Level } from 'level';
import { rate } from '../measuring/load.js';
import { type BenchOptions, compared, type Measurement } from '../measuring/measurement.js';
import { item, itemBytes, items, openLevelStore, withDirectory } from '../measuring/objects.js';

/** The figure of a single writer varies with the disk from second to second: more and shorter rounds. */
const targets = [
  { writers: 1, rounds: 25, ms: 400, gate: 0.85, goal: 1 },
  { writers: 16, rounds: 5, ms: 1_500, gate: 5, goal: 7 },
  { writers: 100, rounds: 5, ms: 1_500, gate: 8, goal: 11 },
  { writers: 1_000, rounds: 5, ms: 1_500, gate: 9, goal: 12 },
];

/** Durable creates of 1 KiB objects against serial synced puts of raw classic-level, interleaved. */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  return withDirectory(async (directory) => {
    const raw = new Level<Buffer, Buffer>(join(directory, 'raw'), {
      keyEncoding: 'buffer',
      valueEncoding: 'buffer',
      writeBufferSize: 16 * 1024 * 1024,
    });
    await raw.open();
    // A separate store for each, so that garbage collection of earlier data is not measured.
    let store = await openLevelStore(join(directory, 'store'));
    const value = Buffer.alloc(itemBytes, 'abc{"def":1,');
    let n = 0;
    const put = (): Promise<void> => {
      const key = Buffer.alloc(13);
      key.writeUIntBE((n += 1), 3, 6);
      return raw.put(key, value, { sync: true } as object);
    };
    const create = (): Promise<unknown> => store.create(items, item((n += 1)));
    // Warms up: a new process writes at half its speed for seconds.
    await rate(1, quick ? 20 : 3_000, put);
    await rate(100, quick ? 20 : 3_000, create);
    const measurements: Measurement[] = [];
    for (const { writers, gate, goal, ...whole } of targets) {
      const { rounds, ms } = quick ? { rounds: 1, ms: 50 } : whole;
      await store.close();
      store = await openLevelStore(join(directory, `store-${writers}`));
      await rate(writers, quick ? ms : 750, create);
      const found: { value: number; baseline: number }[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const baseline = await rate(1, ms, put);
        found.push({ baseline, value: await rate(writers, ms, create) });
      }
      const { baselineValue, ...rest } = compared(found);
      measurements.push({
        name: `durable writes, ${writers} writers`,
        unit: 'writes/s',
        baseline: { what: 'raw classic-level serial synced puts', value: baselineValue },
        better: 'higher',
        gate,
        goal,
        ...rest,
      });
    }
    await store.close();
    await raw.close();
    return measurements;
  });
}
