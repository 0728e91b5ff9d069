import { TestDaemon } from '../../acceptance/daemon.js';
import { until } from '../measuring/until.js';

const base = '/v1/namespaces/default';

/** Runs `work` against a separate daemon. */
export async function withDaemon<R>(work: (daemon: TestDaemon) => Promise<R>): Promise<R> {
  const daemon = await TestDaemon.start();
  try {
    return await work(daemon);
  } finally {
    await daemon.dispose();
  }
}

/** A service with one process. */
export function processService(name: string, script: string, graceSeconds: number): object {
  const command = ['/bin/sh', '-c', script];
  return { name, runtime: 'process', command, terminationGracePeriodSeconds: graceSeconds };
}

/** Creates services, 20 calls at a time. */
export async function createServices(
  daemon: TestDaemon,
  services: readonly object[],
): Promise<void> {
  const left = [...services];
  const client = async (): Promise<void> => {
    for (let next = left.pop(); next; next = left.pop())
      await daemon.ok('POST', `${base}/services`, next);
  };
  await Promise.all(Array.from({ length: 20 }, client));
}

/** Seconds from the request to the outcome, for services that start and stop at once. */
export interface HealthyTimes {
  readonly starts: readonly number[];
  readonly stops: readonly number[];
}

/** Starts and stops healthy services, one after the other. */
export async function healthyTimes(
  daemon: TestDaemon,
  prefix: string,
  count: number,
): Promise<HealthyTimes> {
  const starts: number[] = [];
  const stops: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const name = `${prefix}-${n}`;
    const instance = async (): Promise<Record<string, unknown>> =>
      (await daemon.rest('GET', `${base}/instances/${name}-0`)).body;
    const startedAt = performance.now();
    await daemon.ok('POST', `${base}/services`, processService(name, 'exec sleep 600', 30));
    await until(`${name} to run`, async () => (await instance()).status === 'Running');
    const stoppedAt = performance.now();
    await daemon.ok('DELETE', `${base}/services/${name}`);
    await until(`${name} to be gone`, async () => (await instance()).reason === 'NotFound');
    starts.push((stoppedAt - startedAt) / 1_000);
    stops.push((performance.now() - stoppedAt) / 1_000);
  }
  return { starts, stops };
}
