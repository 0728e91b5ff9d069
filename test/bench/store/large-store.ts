import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type BenchOptions, type Measurement, median } from '../measuring/measurement.js';
import { fill, openLevelStore, withDirectory } from '../measuring/objects.js';
import type { LargeStoreReport } from './large-store-child.js';

const child = fileURLToPath(new URL('large-store-child.js', import.meta.url));

function visit(directory: string): LargeStoreReport {
  const { stdout, status, stderr } = spawnSync(
    process.execPath,
    ['--expose-gc', child, directory],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as LargeStoreReport;
}

/** A store of 100,000 objects: opening, memory, and slices while listing and reconciling. */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const count = quick ? 2_000 : 100_000;
  return withDirectory(async (directory) => {
    const store = await openLevelStore(directory);
    await fill(store, 0, count);
    await store.close();
    const reports = Array.from({ length: quick ? 1 : 5 }, () => visit(directory));
    const of = (pick: (report: LargeStoreReport) => number): number => median(reports.map(pick));
    const objects = `${count.toLocaleString('en')} objects`;
    const plain = (name: string, value: number, unit: string): Measurement => ({
      name,
      value,
      unit,
      ratio: value,
      better: 'lower',
    });
    const seconds = of((r) => r.openToSyncedMs) / 1_000;
    const listMs = of((r) => r.list.longestMs);
    const relistMs = of((r) => r.relist.longestMs);
    const reconcileMs = of((r) => r.reconcile.longestMs);
    return [
      { ...plain(`cold start, ${objects}, open to synced`, seconds, 's'), gate: 1.5, goal: 0.8 },
      {
        ...plain(
          `memory of a cached object, ${objects}`,
          of((r) => r.residentBytes),
          'bytes',
        ),
        baseline: { what: 'its encoded bytes', value: of((r) => r.encodedBytes) },
        ratio: of((r) => r.residentBytes / r.encodedBytes),
        gate: 2,
        goal: 1.4,
      },
      plain(
        `memory of a cached object, all read`,
        of((r) => r.parsedBytes),
        'bytes',
      ),
      { ...plain(`longest slice while listing ${objects}`, listMs, 'ms'), gate: 20 },
      { ...plain(`longest slice while relisting ${objects}`, relistMs, 'ms'), gate: 20 },
      {
        ...plain(`longest slice while starting and reconciling ${objects}`, reconcileMs, 'ms'),
        gate: 20,
      },
      plain(
        'longest garbage collection in these',
        of((r) => Math.max(r.list.longestGcMs, r.relist.longestGcMs, r.reconcile.longestGcMs)),
        'ms',
      ),
    ];
  });
}
