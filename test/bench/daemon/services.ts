import { setTimeout } from 'node:timers/promises';
import type { TestDaemon } from '../../acceptance/daemon.js';
import { withDaemon } from './healthy-starts.js';
import { type BenchOptions, type Measurement, median } from '../measuring/measurement.js';
import { coreShare, processTime } from '../measuring/process-time.js';
import { until } from '../measuring/until.js';

const base = '/v1/namespaces/default';

/** The maximum of objects in one cast. */
const castObjects = 1_000;

/**
 * Waits until all volumes are Available and all instances have a node. Polls once a second, so that polling has little
 * effect on the measurement.
 */
async function settled(daemon: TestDaemon, services: number): Promise<void> {
  const found = async (query: string): Promise<number> => {
    await setTimeout(services < 100 ? 50 : 1_000);
    return (await daemon.list(`${base}/${query}`)).length;
  };
  const pending = `volumes?limit=1&fieldSelector=${encodeURIComponent('status!=Available')}`;
  await until('the volumes', async () => (await found(pending)) === 0);
  const placed = `instances?limit=10000&fieldSelector=${encodeURIComponent('node!=')}`;
  await until('the instances', async () => (await found(placed)) === services);
}

/**
 * The median share of a core that a process uses in `count` parts of `ms`, and the seconds beyond it in all parts.
 * A part has many ticks of the kernel's counter. V8 returns memory once, about a minute after the last work.
 */
async function idleShare(
  pid: number,
  count: number,
  ms: number,
): Promise<{ readonly steady: number; readonly beyond: number }> {
  const shares: number[] = [];
  for (let part = 0; part < count; part += 1)
    shares.push((await coreShare(pid, () => setTimeout(ms))).own);
  const steady = median(shares);
  const all = shares.reduce((sum, share) => sum + share, 0) / count;
  return { steady, beyond: ((all - steady) / 100) * count * (ms / 1_000) };
}

/**
 * Services of one replica that each claim a volume on `local`. They are containers on a node without a
 * container runtime: every instance is created, placed and waits; no process runs. This measures the cost of
 * the objects, not of workloads.
 */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const services = quick ? 20 : 2_000;
  return withDaemon(async (daemon) => {
    const objects = Array.from({ length: services }, (_, n) => [
      {
        kind: 'Volume',
        object: {
          name: `v${n}`,
          size: '1Mi',
          accessMode: 'ReadWriteOnce',
          storageClassName: 'local',
        },
      },
      {
        kind: 'Service',
        object: {
          name: `s${n}`,
          runtime: 'container',
          image: 'x',
          volumes: [{ name: 'data', mountPath: '/data', claim: { name: `v${n}` } }],
        },
      },
    ]).flat();
    const [startedAt, before] = [performance.now(), await processTime(daemon.pid)];
    for (let at = 0; at < objects.length; at += castObjects)
      await daemon.ok('POST', '/v1/cast', { objects: objects.slice(at, at + castObjects) });
    const castSeconds = (performance.now() - startedAt) / 1_000;
    const castTime = (await processTime(daemon.pid)).own - before.own;
    await settled(daemon, services);
    const settledSeconds = (performance.now() - startedAt) / 1_000;
    const settledTime = (await processTime(daemon.pid)).own - before.own;
    const idle = await idleShare(daemon.pid, 11, quick ? 20 : 10_000);
    await daemon.end('SIGTERM');
    await daemon.run();
    const restartTime = (await processTime(daemon.pid)).own;
    const what = `${services.toLocaleString('en')} services with a volume each`;
    const seconds = (name: string, value: number, gate?: number): Measurement => ({
      name: `${what}: ${name}`,
      value,
      unit: 's',
      ratio: value,
      better: 'lower',
      ...(gate === undefined ? {} : { gate }),
    });
    return [
      seconds('cast', castSeconds, 4),
      seconds('cast, time of the daemon', castTime),
      seconds('cast until volumes are Available and instances placed', settledSeconds),
      seconds('the same, time of the daemon', settledTime),
      { ...seconds('idle', idle.steady, 1), unit: '% of a core' },
      seconds('idle, beyond that: memory is given back once', idle.beyond),
      seconds('restart until ready', daemon.startUpMs / 1_000, 1.6),
      seconds('restart until ready, time of the daemon', restartTime),
    ];
  });
}
