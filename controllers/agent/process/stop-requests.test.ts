import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { ProcessRuntime } from './process-runtime.js';
import { StopRequests } from './stop-requests.js';

const graceMs = 30_000;

describe('stops of workloads', () => {
  let clock: FakeClock;
  let directory: string;
  let child: ChildProcess;
  /** Starts the process. */
  const begin = async (): Promise<void> => {
    // A separate process group that does not end on SIGTERM.
    const deaf = 'trap "echo asked" TERM; echo ready; while :; do sleep 0.05; done';
    child = spawn('/bin/sh', ['-c', deaf], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(child.stdout!, 'data');
  };
  beforeEach(async () => {
    clock = new FakeClock();
    directory = await mkdtemp(join(tmpdir(), 'kedge-stop-'));
    await begin();
  });
  afterEach(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const end = once(child, 'exit');
      process.kill(-child.pid!, 'SIGKILL');
      await end;
    }
    await rm(directory, { recursive: true });
  });

  const advance = (stops: StopRequests): ReturnType<StopRequests['advance']> => {
    const state = { state: 'running', run: 1, pid: child.pid!, startedAt: 0 } as const;
    return stops.advance(directory, state, graceMs);
  };

  it('send SIGTERM first, and SIGKILL once the grace period is over', async () => {
    const stops = new StopRequests(clock);
    const asked = once(child.stdout!, 'data');
    await advance(stops);
    expect(String((await asked)[0])).to.equal('asked\n');
    await clock.advance(graceMs - 1);
    await advance(stops);
    expect(child.signalCode).to.equal(null);
    await clock.advance(1);
    const end = once(child, 'exit');
    await advance(stops);
    expect((await end)[1]).to.equal('SIGKILL');
  });

  it('wait for the end of a process from the kill on, also if the grace period was over long before', async () => {
    await writeFile(join(directory, 'stop-requested'), String(clock.now() - 60 * 60_000));
    const stops = new StopRequests(clock);
    await advance(stops);
    await clock.advance(4_999);
    // The process was killed, but the given state is still `running`.
    expect(await advance(stops)).to.deep.equal({
      type: 'stopping',
      checkInMs: 100,
      sent: 'SIGKILL',
    });
    await clock.advance(1);
    const survived: unknown = await advance(stops).catch((error: unknown) => error);
    expect(String(survived)).to.contain(`process ${child.pid} does not end after SIGKILL`);
  });

  it('report a request that can’t be recorded although the disk is not full', async () => {
    const file = join(directory, 'stop-requested');
    await symlink(join(directory, 'missing/file'), file);
    const failed: unknown = await advance(new StopRequests(clock)).catch((error: unknown) => error);
    expect(String(failed)).to.match(/^Error: E[A-Z]+: .*stop-requested/);
  });

  for (const afterwards of ['stopped', 'removed'])
    it(`leave nothing for a later run with the folder of one that was ${afterwards}`, async () => {
      const id = '11111111-2222-4333-8444-666666666666';
      const runtime = new ProcessRuntime({ directory, hiddenDirectories: [], clock });
      const run = join(directory, id, 'run-1');
      const identity = async (): Promise<string> => {
        const stat = await readFile(`/proc/${child.pid}/stat`, 'utf8');
        return `${child.pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
      };
      const killed = async (): Promise<void> => {
        const end = once(child, 'exit');
        expect(await runtime.requestStop(id, 0)).to.include({ type: 'stopping', sent: 'SIGKILL' });
        await end;
      };
      try {
        // The start hangs, and the disk is full when it is given up.
        await mkdir(join(run, 'claimed'), { recursive: true });
        await writeFile(join(run, 'claimed/supervisor'), await identity());
        await killed();
        await writeFile(join(run, 'claimed/abandoned'), '');
        if (afterwards === 'stopped')
          expect(await runtime.requestStop(id, 0)).to.deep.equal({ type: 'gone' });
        if (afterwards === 'removed') await runtime.remove(id);
        await rm(run, { recursive: true, force: true });
        await clock.advance(60_000);
        await begin();
        await mkdir(join(run, 'claimed'), { recursive: true });
        await writeFile(join(run, 'pid'), await identity());
        await killed();
      } finally {
        runtime.close();
      }
    });
});
