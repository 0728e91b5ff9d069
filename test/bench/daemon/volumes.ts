import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Level } from 'level';
import { rate } from '../measuring/load.js';
import type { BenchOptions, Measurement } from '../measuring/measurement.js';
import { item, items, openLevelStore, withDirectory } from '../measuring/objects.js';
import type { VolumesReport } from './volumes-child.js';

const clients = 50;
const child = fileURLToPath(new URL('volumes-child.js', import.meta.url));

/** Raw classic-level serial synced puts per second, of the size of a volume. */
async function rawPuts(directory: string, ms: number): Promise<number> {
  const raw = new Level<string, Buffer>(join(directory, 'raw'), { valueEncoding: 'buffer' });
  await raw.open();
  let n = 0;
  const value = Buffer.alloc(1_024, 'abc{"def":1,');
  const put = (): Promise<void> => raw.put(`key${(n += 1)}`, value, { sync: true } as object);
  await rate(1, ms, put);
  const found = await rate(1, ms, put);
  await raw.close();
  return found;
}

/** Creations per second of objects of the size of a volume, by as many writers as the API has clients. */
async function storeWrites(directory: string, ms: number): Promise<number> {
  const store = await openLevelStore(join(directory, 'store'));
  let n = 0;
  const create = (): Promise<unknown> => store.create(items, item((n += 1)));
  await rate(clients, ms, create);
  const found = await rate(clients, ms, create);
  await store.close();
  return found;
}

/** Volumes on `local`, created through the API by 50 clients, until all are Available. */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const count = quick ? 100 : 10_000;
  return withDirectory(async (directory) => {
    const baseline = await rawPuts(directory, quick ? 50 : 1_500);
    const writes = await storeWrites(directory, quick ? 50 : 1_500);
    const daemon = spawn(process.execPath, ['--expose-gc', child, join(directory, 'data')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: daemon.stdout })[Symbol.asyncIterator]();
    const next = async <T>(): Promise<T> => JSON.parse(String((await lines.next()).value)) as T;
    const { rest, token } = await next<{ rest: number; token: string }>();
    const call = async (method: string, path: string, body?: object): Promise<unknown> => {
      const response = await fetch(`http://127.0.0.1:${rest}/v1/namespaces/default${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return JSON.parse(text);
    };
    const reported = async (): Promise<VolumesReport> => {
      daemon.stdin.write('\n');
      return next<VolumesReport>();
    };
    let n = 0;
    const make = async (): Promise<void> => {
      for (let mine = (n += 1); mine <= count; mine = n += 1)
        await call('POST', '/volumes', {
          name: `v${mine}`,
          size: '1Mi',
          accessMode: 'ReadWriteOnce',
          storageClassName: 'local',
        });
    };
    const { revision: first } = await reported();
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: clients }, make));
    const createdAt = performance.now();
    for (let last = 0; last < count; ) {
      // Polls one at the end of the queue, not the whole list, so that polling does not affect the measurement.
      const { status } = (await call('GET', `/volumes/v${last + 1}`)) as { status: string };
      if (status === 'Available') last += 1;
      else await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    const { revision: last, residentBytes: before } = await reported();
    const writesEach = (last - first) / count;
    await new Promise((resolve) => setTimeout(resolve, quick ? 100 : 5_000));
    const { residentBytes: after } = await reported();
    daemon.stdin.end();
    const { slices } = await next<VolumesReport>();
    await new Promise((resolve) => daemon.once('exit', resolve));
    const what = `${count.toLocaleString('en')} volumes by ${clients} clients`;
    const perSecond = count / seconds;
    return [
      {
        name: `${what}, all Available`,
        value: perSecond,
        unit: 'volumes/s',
        baseline: {
          what: `store writes/s by ${clients} writers, divided by the ${writesEach.toFixed(2)} writes of a volume`,
          value: writes / writesEach,
        },
        ratio: (perSecond * writesEach) / writes,
        better: 'higher',
        gate: 0.6,
        goal: 0.9,
      },
      {
        name: `${what}, created`,
        value: count / ((createdAt - startedAt) / 1_000),
        unit: 'volumes/s',
        baseline: { what: 'raw classic-level serial synced puts', value: baseline },
        ratio: count / ((createdAt - startedAt) / 1_000) / baseline,
        better: 'higher',
      },
      {
        name: `${what}, longest slice`,
        value: slices.longestMs,
        unit: 'ms',
        ratio: slices.longestMs,
        better: 'lower',
        gate: 50,
      },
      {
        name: `${what}, memory 5 s later`,
        value: after / 2 ** 20,
        unit: 'MiB',
        baseline: { what: 'when all were Available', value: before / 2 ** 20 },
        ratio: after / before,
        better: 'lower',
        gate: 1.1,
      },
    ];
  });
}
