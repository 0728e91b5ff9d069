import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import type { TestDaemon } from '../../acceptance/daemon.js';
import type { BenchOptions, Measurement } from '../measuring/measurement.js';
import { processTime } from '../measuring/process-time.js';
import { until } from '../measuring/until.js';
import { withDaemon } from './healthy-starts.js';

const clients = 50;
const base = '/v1/namespaces/default/volumes';

/** Processor microseconds of the thread of a daemon's event loop. */
async function threadTime(pid: number): Promise<number> {
  const [ns = ''] = (await readFile(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')).split(' ');
  return Number(ns) / 1_000;
}

/** Creates volumes `from + 1` to `to` and waits until they are Available. */
async function make(daemon: TestDaemon, from: number, to: number): Promise<void> {
  let last = from;
  const client = async (): Promise<void> => {
    while (last < to) {
      last += 1;
      await daemon.ok('POST', base, {
        name: `v${last}`,
        size: '1Mi',
        accessMode: 'ReadWriteOnce',
        storageClassName: 'local',
      });
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const pending = `${base}?limit=1&fieldSelector=${encodeURIComponent('status!=Available')}`;
  await until('the volumes', async () => {
    // Rarely, so that polling does not affect the measurement.
    await setTimeout(to < 100 ? 50 : 1_000);
    return (await daemon.list(pending)).length === 0;
  });
}

/**
 * The processor time of a daemon with its defaults for each volume on `local`, from its creation by one of 50 clients
 * until it is Available. Other load of the machine changes it less than the rates of `volumes`.
 */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const [first, count] = quick ? [10, 20] : [500, Number(process.env['KEDGE_VOLUMES'] ?? 2_500)];
  return withDaemon(async (daemon) => {
    // The code of a daemon that has just started is not compiled yet.
    await make(daemon, 0, first);
    const before = [(await processTime(daemon.pid)).own, await threadTime(daemon.pid)] as const;
    await make(daemon, first, first + count);
    const spent = ((await processTime(daemon.pid)).own - before[0]) * 1e6;
    const ofThread = (await threadTime(daemon.pid)) - before[1];
    const row = (name: string, value: number): Measurement => ({
      name: `${count.toLocaleString('en')} volumes, processor time of ${name} each`,
      value: value / count,
      unit: 'µs',
      ratio: value / count,
      better: 'lower',
    });
    return [row('the daemon', spent), row('its event loop', ofThread)];
  });
}
