import { readFile } from 'node:fs/promises';
import { type BenchOptions, compared, type Measurement } from '../measuring/measurement.js';
import { withDirectory } from '../measuring/objects.js';
import { firstThreadTime, processTime } from '../measuring/process-time.js';
import { ApiLoad, loadSources, type LoadResult } from './api-load.js';
import { buildGo, EtcdServer, etcdVersion, missingForEtcd } from './etcd-server.js';
import { drawProfiles, profiledDaemon } from './profile.js';
import { syncsOf } from './syncs.js';

interface Row {
  readonly name: string;
  readonly command: string;
  readonly figure: 'perSecond' | 'p50' | 'p99';
  readonly gate: number;
  readonly goal: number;
}

/** The rows of creates, gets and events, with their gates and goals as ratios to etcd. */
function writeRows(quick: boolean): readonly Row[] {
  const ms = quick ? 50 : 2_000;
  const create = (clients: number, gate: number, goal: number): Row => ({
    name: `create, ${clients} at once`,
    command: `create ${clients} ${ms}`,
    figure: 'perSecond',
    gate,
    goal,
  });
  const delays = `delays ${quick ? 100 : 1_000} ${quick ? 200 : 3_000}`;
  return [
    create(1, 0.75, 1),
    create(16, 0.65, 0.9),
    create(100, 0.55, 0.9),
    create(1_000, 0.5, 0.9),
    { name: 'get, 16 at once', command: `get 16 ${ms}`, figure: 'perSecond', gate: 1.5, goal: 2 },
    { name: 'create to event, p50', command: delays, figure: 'p50', gate: 1.8, goal: 1.2 },
    { name: 'create to event, p99', command: delays, figure: 'p99', gate: 4, goal: 2 },
    {
      name: 'events to 1,000 watchers',
      command: quick ? 'spread 20 5' : 'spread 1000 300',
      figure: 'perSecond',
      gate: 0.8,
      goal: 1.5,
    },
  ];
}

const listRows: readonly Row[] = [
  { name: 'list in pages of 500', command: 'list 500', figure: 'perSecond', gate: 3, goal: 5 },
  {
    name: 'list in the largest pages',
    command: 'list 0',
    figure: 'perSecond',
    gate: 0.7,
    goal: 1.2,
  },
];

/** The rows whose names match `KEDGE_BENCH_ROWS`, a regular expression; without it all. */
function wanted(rows: readonly Row[]): readonly Row[] {
  const names = new RegExp(process.env['KEDGE_BENCH_ROWS'] ?? '');
  return rows.filter(({ name }) => names.test(name));
}

const stateName = 'initial state over a watch';

interface Server {
  readonly load: ApiLoad;
  readonly pid: number;
}

/** Interleaved rounds of every command; two rows of one command share its results. */
async function interleaved(
  rows: readonly Row[],
  rounds: number,
  ours: Server,
  peer: Server,
): Promise<readonly Measurement[]> {
  const results = new Map<string, { readonly ours: LoadResult; readonly peer: LoadResult }[]>();
  for (const command of new Set(rows.map((row) => row.command))) {
    const found: { ours: LoadResult; peer: LoadResult }[] = [];
    const spent = { ours: 0, peer: 0, thread: 0 };
    for (let round = 0; round < rounds; round += 1) {
      const before = [await processTime(ours.pid), await processTime(peer.pid)];
      const one = await peer.load.run(command);
      const threadBefore = await firstThreadTime(ours.pid);
      found.push({ peer: one, ours: await ours.load.run(command) });
      spent.thread += (await firstThreadTime(ours.pid)) - threadBefore;
      const after = [await processTime(ours.pid), await processTime(peer.pid)];
      spent.ours += (after[0]?.own ?? 0) - (before[0]?.own ?? 0);
      spent.peer += (after[1]?.own ?? 0) - (before[1]?.own ?? 0);
    }
    results.set(command, found);
    const each = (seconds: number, server: 'ours' | 'peer'): string => {
      const count = found.reduce((sum, round) => sum + round[server].count, 0);
      return `${((seconds / count) * 1e6).toFixed(1)} µs`;
    };
    console.log(
      `processor time of "${command}" for each: kedged ${each(spent.ours, 'ours')}, of which its event loop's thread ${each(spent.thread, 'ours')}; etcd ${each(spent.peer, 'peer')}`,
    );
  }
  return rows.map(({ name, command, figure, gate, goal }) => {
    const { baselineValue, ...rest } = compared(
      (results.get(command) ?? []).map((round) => ({
        value: round.ours[figure],
        baseline: round.peer[figure],
      })),
    );
    return {
      name,
      unit: figure === 'perSecond' ? '/s' : 'ms',
      better: figure === 'perSecond' ? 'higher' : 'lower',
      gate,
      goal,
      baseline: { what: 'etcd', value: baselineValue },
      ...rest,
    };
  });
}

async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
}

/** New servers without objects, each with its load client. */
async function withServers<T>(
  program: string,
  directory: string,
  work: (ours: Server, peer: Server) => Promise<T>,
): Promise<T> {
  const etcd = await EtcdServer.start(directory);
  try {
    const daemon = await profiledDaemon();
    const ours = new ApiLoad(program, 'kedged', daemon.grpcAddress, daemon.token);
    const peer = new ApiLoad(program, 'etcd', etcd.address);
    try {
      const found = await work({ load: ours, pid: daemon.pid }, { load: peer, pid: etcd.pid });
      const [a, b] = [await residentMiB(daemon.pid), await residentMiB(etcd.pid)];
      console.log(`resident memory: kedged ${a.toFixed(0)} MiB, etcd ${b.toFixed(0)} MiB`);
      return found;
    } finally {
      ours.end();
      peer.end();
      await daemon.dispose();
    }
  } finally {
    etcd.kill();
  }
}

async function showSyncs(ours: Server, peer: Server, ms: number): Promise<void> {
  for (const [name, server] of [['kedged', ours] as const, ['etcd', peer] as const]) {
    let writes = 0;
    const syncs = await syncsOf(server.pid, async () => {
      writes = (await server.load.run(`create 1 ${ms}`)).count;
    });
    console.log(
      syncs === undefined
        ? `synced writes of ${name}: none counted, or strace is missing or may not trace`
        : `synced writes of ${name}: ${syncs} for ${writes} creates one after the other`,
    );
  }
}

/** A watch that begins with the state, against a list in the largest pages of the same daemon. */
async function stateRow(ours: Server, rounds: number): Promise<Measurement> {
  const found: { value: number; baseline: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const baseline = (await ours.load.run('list 0')).perSecond;
    found.push({ baseline, value: (await ours.load.run('state')).perSecond });
  }
  const { baselineValue, ...rest } = compared(found);
  return {
    name: stateName,
    unit: '/s',
    better: 'higher',
    gate: 0.8,
    goal: 1,
    baseline: { what: 'list in the largest pages of kedged', value: baselineValue },
    ...rest,
  };
}

/** The API of a daemon with its defaults against etcd with its defaults, by one compiled load client. */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const problem = missingForEtcd();
  if (problem !== undefined) {
    console.log(`api-etcd: ${problem}`);
    return [];
  }
  return withDirectory(async (directory) => {
    console.log(`etcd ${etcdVersion()}, Node.js ${process.version}; etcd's compaction is off`);
    const program = buildGo(directory, loadSources);
    const rounds = quick ? 1 : 5;
    const measurements: Measurement[] = [];
    const writes = wanted(writeRows(quick));
    if (writes.length > 0)
      await withServers(program, directory, async (ours, peer) => {
        for (const server of [peer, ours])
          await server.load.run(`create 100 ${quick ? 50 : 4_000}`);
        await showSyncs(ours, peer, quick ? 200 : 1_000);
        measurements.push(...(await interleaved(writes, rounds, ours, peer)));
      });
    const lists = wanted(listRows);
    const state = new RegExp(process.env['KEDGE_BENCH_ROWS'] ?? '').test(stateName);
    const objects = quick ? 1_000 : 100_000;
    if (lists.length > 0 || state)
      await withServers(program, `${directory}/lists`, async (ours, peer) => {
        for (const server of [peer, ours]) await server.load.run(`fill 100 ${objects}`);
        for (const server of [peer, ours]) await server.load.run('list 0');
        measurements.push(...(await interleaved(lists, rounds, ours, peer)));
        if (state) measurements.push(await stateRow(ours, rounds));
      });
    await drawProfiles();
    return measurements;
  });
}
