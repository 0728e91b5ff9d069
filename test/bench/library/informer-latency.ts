import { type Engine, type EngineRecord, LevelEngine, openStore, SharedInformer } from 'kedge';
import { type BenchOptions, type Measurement, percentile } from '../measuring/measurement.js';
import { item, items, withDirectory } from '../measuring/objects.js';

const perSecond = 5_000;

/** Records when a revision was durable. */
class TimedEngine extends LevelEngine implements Engine {
  readonly durableAt = new Map<number, number>();

  override async append(records: readonly EngineRecord[]): Promise<void> {
    await super.append(records);
    const now = performance.now();
    for (const { revision } of records) this.durableAt.set(revision, now);
  }
}

/** Latency from commit to handler at a steady rate of writes. */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  return withDirectory(async (directory) => {
    const engine = new TimedEngine({ directory });
    const store = await openStore({ engine });
    const calledAt = new Map<string, number>();
    const fromCommit: number[] = [];
    const fromCall: number[] = [];
    const informer = new SharedInformer({ source: store.source(items), name: 'items' });
    let warm = false;
    informer.addHandler({
      onAdd: ({ name, metadata }) => {
        if (!warm) return;
        const now = performance.now();
        fromCommit.push(now - (engine.durableAt.get(Number(metadata.resourceVersion)) ?? now));
        fromCall.push(now - (calledAt.get(name) ?? now));
      },
    });
    informer.start();
    await informer.waitForSync();
    let n = 0;
    const writes = new Set<Promise<unknown>>();
    const pace = async (ms: number): Promise<void> => {
      const startedAt = performance.now();
      const startN = n;
      while (performance.now() - startedAt < ms) {
        const due = Math.floor(((performance.now() - startedAt) / 1_000) * perSecond);
        while (n - startN < due) {
          const object = item((n += 1));
          calledAt.set(object.name, performance.now());
          const write = store.create(items, object).finally(() => writes.delete(write));
          writes.add(write);
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      await Promise.all(writes);
    };
    await pace(quick ? 50 : 3_000);
    warm = true;
    await pace(quick ? 50 : 6_000);
    await informer.close();
    await store.close();
    const p99 = percentile(fromCommit, 0.99);
    const called = percentile(fromCall, 0.99);
    return [
      {
        name: `commit to informer handler, ${perSecond} writes/s, p99`,
        value: p99,
        unit: 'ms',
        ratio: p99,
        better: 'lower',
        gate: 2,
        goal: 1,
      },
      {
        name: `write call to informer handler, ${perSecond} writes/s, p99`,
        value: called,
        unit: 'ms',
        ratio: called,
        better: 'lower',
      },
    ];
  });
}
