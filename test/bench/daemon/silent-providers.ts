import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestDaemon } from '../../acceptance/daemon.js';
import { SilentEndpoint, silentOnes } from '../../emulators/drivers/silent-endpoint.js';
import { type BenchOptions, type Measurement, percentile } from '../measuring/measurement.js';
import { until } from '../measuring/until.js';

const base = '/v1/namespaces/default';
/** More than the workers of a class. */
const silentCount = 20;
const clients = 4;

type Provider = keyof typeof silentOnes;

/** Milliseconds from the creation of each of some volumes of the class `local` until it is Available. */
async function latencies(
  daemon: TestDaemon,
  prefix: string,
  count: number,
): Promise<readonly number[]> {
  const found: number[] = [];
  const names = Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
  const client = async (): Promise<void> => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      const startedAt = performance.now();
      const spec = { size: '1Mi', accessMode: 'ReadWriteOnce' };
      await daemon.ok('POST', `${base}/volumes`, { name, storageClassName: 'local', ...spec });
      while ((await daemon.ok('GET', `${base}/volumes/${name}`)).status !== 'Available');
      found.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return found;
}

function p99(values: readonly number[] = []): number {
  return percentile(values, 0.99);
}

/** Two daemons with the same classes; in the second one volumes wait for a provider that does not answer. */
async function paired(provider: Provider, quick: boolean): Promise<Measurement> {
  const [groups, slices, count] = quick ? [1, 1, 4] : [3, 14, 30];
  const { driver, parameters, calls = 16 } = silentOnes[provider];
  const silent = new SilentEndpoint();
  const folder = await mkdtemp(join(tmpdir(), 'kedge-bench-silent-'));
  const config = join(folder, 'kedged.toml');
  await writeFile(
    config,
    `[drivers.${driver}]
endpoint = "${await silent.listen()}"
[drivers.${driver}.timeouts]
requestMs = 30000
`,
  );
  const start = async (): Promise<TestDaemon> => {
    const daemon = await TestDaemon.start({ arguments: ['--config', config] });
    await daemon.ok('POST', '/v1/storageclasses', { name: 'silent', driver, parameters });
    const { status } = await daemon.rest('GET', '/v1/storageclasses/local');
    if (status === 404)
      await daemon.ok('POST', '/v1/storageclasses', { name: 'local', driver: 'local' });
    return daemon;
  };
  const [alone, beside] = [await start(), await start()];
  try {
    for (let n = 0; n < silentCount; n += 1)
      await beside.ok('POST', `${base}/volumes`, {
        ...{ name: `silent-${n}`, storageClassName: 'silent', size: '1Gi' },
        accessMode: 'ReadWriteOnce',
      });
    await until('calls that wait', () => Promise.resolve(silent.sockets.size >= calls));
    for (const daemon of [alone, beside]) await latencies(daemon, 'warm', count);
    // Short slices of both in turns: a burst of other load meets both. Three groups show the spread.
    const pairs: { value: number; baseline: number }[] = [];
    const whole = new Map<TestDaemon, number[]>([alone, beside].map((one) => [one, []]));
    for (let group = 0; group < groups; group += 1) {
      const measured = new Map<TestDaemon, number[]>([alone, beside].map((one) => [one, []]));
      for (let slice = 0; slice < slices; slice += 1)
        // The first of a pair changes with each slice.
        for (const daemon of slice % 2 === 0 ? [alone, beside] : [beside, alone])
          measured.get(daemon)?.push(...(await latencies(daemon, `g${group}-${slice}`, count)));
      for (const [daemon, found] of measured) whole.get(daemon)?.push(...found);
      pairs.push({ value: p99(measured.get(beside)), baseline: p99(measured.get(alone)) });
    }
    const ratios = pairs.map(({ value, baseline }) => value / baseline);
    const [value, baseline] = [p99(whole.get(beside)), p99(whole.get(alone))];
    return {
      name: `${silentCount} volumes of a silent ${driver}: volume of another class Available, p99`,
      value,
      unit: 'ms',
      baseline: { what: 'without them', value: baseline },
      ratio: value / baseline,
      better: 'lower',
      gate: 1.2,
      spread: [Math.min(...ratios), Math.max(...ratios)],
    };
  } finally {
    // Ends the calls: a graceful stop waits for them.
    silent.close();
    for (const daemon of [alone, beside]) await daemon.dispose();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The delay of a class by another class, whose provider accepts connections and answers nothing. */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const only = process.env['KEDGE_SILENT_ONLY'];
  const measurements: Measurement[] = [];
  for (const provider of ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const)
    if (only === undefined || only === provider) measurements.push(await paired(provider, quick));
  return measurements;
}
