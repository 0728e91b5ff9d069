import { createServices, healthyTimes, processService, withDaemon } from './healthy-starts.js';
import { type BenchOptions, type Measurement, median } from '../measuring/measurement.js';
import { until } from '../measuring/until.js';

const base = '/v1/namespaces/default';

/** The delay of workloads that start and stop while others, which ignore SIGTERM, are deleted. */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const count = quick ? 3 : 64;
  const rounds = quick ? 1 : 5;
  const graceSeconds = quick ? 4 : 45;
  return withDaemon(async (daemon) => {
    const names = Array.from({ length: count }, (_, n) => `s${n}`);
    // Ignored signals stay ignored across exec.
    const script = "trap '' TERM; exec sleep 600";
    const services = names.map((name) => processService(name, script, graceSeconds));
    await createServices(daemon, services);
    const statuses = async (): Promise<unknown[]> =>
      (await daemon.list(`${base}/instances?limit=1000`)).map(({ status }) => status);
    await until('all to run', async () => {
      const found = await statuses();
      return found.length === count && found.every((status) => status === 'Running');
    });
    const before = await healthyTimes(daemon, 'before', rounds);
    const deletedAt = performance.now();
    await Promise.all(names.map((name) => daemon.ok('DELETE', `${base}/services/${name}`)));
    const among = await healthyTimes(daemon, 'among', rounds);
    if (!quick && (await statuses()).length < count)
      throw new Error('some were gone before the measurement of the others ended');
    await until('all to be gone', async () => (await statuses()).length === 0);
    const seconds = (performance.now() - deletedAt) / 1_000;
    const what = `${count} workloads that ignore SIGTERM`;
    return [
      ...(['starts', 'stops'] as const).map((which): Measurement => {
        const [value, usual] = [median(among[which]), median(before[which])];
        return {
          name: `${what}: delay of other ${which}`,
          value,
          unit: 's',
          baseline: { what: `${which} before`, value: usual },
          ratio: value - usual,
          better: 'lower',
          gate: 1,
        };
      }),
      {
        name: `${what}: all gone, after their grace of ${graceSeconds} s`,
        value: seconds,
        unit: 's',
        baseline: { what: 'their grace', value: graceSeconds },
        ratio: seconds - graceSeconds,
        better: 'lower',
      },
    ];
  });
}
