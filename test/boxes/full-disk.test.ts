import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { messageOf, systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { ProcessRuntime, type WorkloadSpec, type WorkloadState } from '@kedge/controllers';
import { cleanUp, requireDevices } from '../drivers/devices.js';

const id = '0f6cbd92-1c31-4a3a-9c0e-555555555555';
/** A start takes fewer blocks. */
const blocksOfStart = 32;

describe('process workloads on a full disk', function () {
  this.timeout(240_000);
  let base: string;
  let disk: string;
  let volume: string;
  let runtime: ProcessRuntime;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-full-'));
    disk = join(base, 'disk');
    volume = join(base, 'volume');
    for (const folder of [disk, volume]) await mkdir(folder);
    const image = join(base, 'disk.img');
    execFileSync('truncate', ['-s', '4M', image]);
    // In blocks of 1 KiB, none of them reserved for root.
    execFileSync('mkfs.ext4', ['-q', '-m', '0', '-b', '1024', image]);
    execFileSync('mount', ['-o', 'loop', image, disk]);
    runtime = new ProcessRuntime({
      directory: join(disk, 'instances'),
      hiddenDirectories: [join(disk, 'instances')],
      clock: systemClock,
    });
  });
  afterEach(async () => {
    await free();
    await runtime.stop(id, 0);
    await runtime.remove(id);
    runtime.close();
    await cleanUp(base);
    await rm(base, { recursive: true, force: true });
  });

  /** Fills the disk except for a number of blocks. */
  const fill = async (blocksLeft = 0): Promise<void> => {
    const rest = join(disk, 'rest');
    await writeFile(rest, Buffer.alloc(blocksLeft * 1024));
    for (const name of ['filler-a', 'filler-b']) {
      spawnSync('dd', ['if=/dev/zero', `of=${join(disk, name)}`, 'bs=1024']);
      execFileSync('sync', ['-f', disk]);
    }
    await rm(rest);
    execFileSync('sync', ['-f', disk]);
  };
  const free = async (): Promise<void> => {
    for (const name of ['filler-a', 'filler-b']) await rm(join(disk, name), { force: true });
  };
  const start = (script: string): Promise<void> => {
    const mounts = [{ source: volume, target: '/kedge-volume', readOnly: false }];
    const command = ['/bin/sh', '-c', script];
    const spec: WorkloadSpec = { id, command, env: {}, workingDir: '/', mounts };
    return runtime.start(spec);
  };
  const until = (what: string, wanted: (state: WorkloadState) => boolean): Promise<WorkloadState> =>
    eventually(
      what,
      async () => {
        const state = await runtime.observe(id);
        if (wanted(state)) return state;
        throw new Error(JSON.stringify(state));
      },
      30_000,
    );
  const running = (): Promise<WorkloadState> =>
    until('the workload to run', ({ state }) => state === 'running');

  it('the exit code of a workload is recorded', async () => {
    await start('while [ ! -e /kedge-volume/go ]; do sleep 0.05; done; exit 3');
    await running();
    await fill();
    await writeFile(join(volume, 'go'), '');
    const end = await until('the workload to end', ({ state }) => state === 'exited');
    expect(end).to.include({ run: 1, exitCode: 3, requested: false });
  });

  it('a workload is stopped', async () => {
    await start('while :; do sleep 0.05; done');
    await running();
    await fill();
    await runtime.stop(id, 0);
    expect(await runtime.observe(id)).to.include({ state: 'exited', exitCode: 137 });
  });

  it(`a start with any number of blocks left is over soon, reports why it failed, and runs at most once`, async () => {
    const outcomes = new Map<string, number>();
    const counted = (outcome: string): void =>
      void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    const script = 'echo run >>/kedge-volume/runs; exec sleep 1000';
    for (let blocks = 0; blocks <= blocksOfStart; blocks += 1) {
      await fill(blocks);
      const failure = await start(script).then(
        () => 'accepted',
        (error: unknown) => messageOf(error).replace(/,.*/, ''),
      );
      // It may have no space for the record that it failed.
      const first = await eventually('the start to be over', async () => {
        const state = await runtime.observe(id).catch(() => ({ state: 'full' }));
        if (state.state === 'starting') return undefined;
        if ('refused' in state) return `refused: ${state.refused.replace(/\/\S+/g, '…')}`;
        return state.state;
      });
      counted(`${failure}, ${first}`);
      await free();
      await eventually('the workload to run once', async () => {
        const { state } = await runtime.observe(id);
        if (state !== 'running' && state !== 'starting') await start(script);
        const runs = await readFile(join(volume, 'runs'), 'utf8').catch(() => '');
        return runs === 'run\n';
      });
      await running();
      await runtime.stop(id, 0);
      await runtime.remove(id);
      await rm(join(volume, 'runs'));
    }
    console.log(`      ${[...outcomes].map(([text, n]) => `${n} ${text}`).join('; ')}`);
    const failures = [...outcomes.keys()].filter((text) => !text.startsWith('accepted'));
    for (const failure of failures) expect(failure).to.match(/^ENOSPC: no space left on device/);
    expect([...outcomes.keys()]).to.include('accepted, running');
  });
});
