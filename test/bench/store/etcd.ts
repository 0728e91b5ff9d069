import { execFileSync, spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually } from 'kedge/testing';
import { rate } from '../measuring/load.js';
import { type BenchOptions, compared, type Measurement } from '../measuring/measurement.js';
import { item, itemBytes, items, openLevelStore, withDirectory } from '../measuring/objects.js';

const source = fileURLToPath(new URL('../../../bench/store/etcd-load.go', import.meta.url));
const targets = [
  { writers: 16, gate: 2 },
  { writers: 100, gate: 2 },
  { writers: 1_000, gate: 1.8 },
];

function missing(): string | undefined {
  try {
    execFileSync('etcd', ['--version'], { stdio: 'ignore' });
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'etcd: skipped: needs etcd and a Go client (Debian: etcd-server golang-go golang-etcd-server-dev golang-google-grpc-dev)';
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** Durable creates in process against puts of a Go client to an etcd on the same disk, interleaved. */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const problem = missing();
  if (problem !== undefined) {
    console.log(problem);
    return [];
  }
  return withDirectory(async (directory) => {
    const load = join(directory, 'load');
    execFileSync('go', ['build', '-o', load, source], {
      env: {
        ...process.env,
        GO111MODULE: 'off',
        GOPATH: '/usr/share/gocode',
        GOCACHE: join(directory, 'cache'),
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [port, peerPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    const peer = `http://127.0.0.1:${peerPort}`;
    const etcd = spawn(
      'etcd',
      [
        ...['--data-dir', join(directory, 'etcd'), '--name', 'bench', '--log-level', 'error'],
        ...['--listen-client-urls', url, '--advertise-client-urls', url],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
        ...['--initial-cluster', `bench=${peer}`, '--quota-backend-bytes', '8589934592'],
      ],
      { stdio: 'ignore' },
    );
    let store = await openLevelStore(join(directory, 'store'));
    try {
      await eventually('etcd', async () => (await fetch(`${url}/health`)).ok, 20_000);
      const client = spawn(load, [`127.0.0.1:${port}`, String(itemBytes)], {
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
      etcd.kill('SIGKILL');
    }
  });
}
