import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { rate } from '../measuring/load.js';
import { type BenchOptions, compared, type Measurement } from '../measuring/measurement.js';
import { item, itemBytes, items, openLevelStore, withDirectory } from '../measuring/objects.js';
import { buildGo, EtcdServer, missingForEtcd } from './etcd-server.js';

const targets = [
  { writers: 16, gate: 2 },
  { writers: 100, gate: 2 },
  { writers: 1_000, gate: 1.8 },
];

/** Durable creates in process against puts of a Go client to an etcd on the same disk, interleaved. */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const problem = missingForEtcd();
  if (problem !== undefined) {
    console.log(`etcd: ${problem}`);
    return [];
  }
  return withDirectory(async (directory) => {
    const load = buildGo(directory, ['store-load.go']);
    const etcd = await EtcdServer.start(directory);
    let store = await openLevelStore(join(directory, 'store'));
    try {
      const client = spawn(load, [etcd.address, String(itemBytes)], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      const answers = createInterface({ input: client.stdout })[Symbol.asyncIterator]();
      const puts = async (writers: number, ms: number): Promise<number> => {
        client.stdin.write(`${writers} ${ms}\n`);
        return Number((await answers.next()).value);
      };
      let n = 0;
      const create = (): Promise<unknown> => store.create(items, item((n += 1)));
      const ms = quick ? 50 : 2_000;
      await puts(100, ms);
      await rate(100, quick ? 20 : 4_000, create);
      const measurements: Measurement[] = [];
      for (const { writers, gate } of targets) {
        await store.close();
        store = await openLevelStore(join(directory, `store-${writers}`));
        const found: { value: number; baseline: number }[] = [];
        for (let round = 0; round < (quick ? 1 : 5); round += 1) {
          const baseline = await puts(writers, ms);
          found.push({ baseline, value: await rate(writers, ms, create) });
        }
        const { baselineValue, ...rest } = compared(found);
        measurements.push({
          name: `durable writes, ${writers} writers, against etcd`,
          unit: 'writes/s',
          baseline: { what: 'puts of a Go client to etcd', value: baselineValue },
          better: 'higher',
          gate,
          ...rest,
        });
      }
      client.stdin.end();
      return measurements;
    } finally {
      await store.close();
      etcd.kill();
    }
  });
}
