import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { silentLogger, systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { FakeEngine, json } from '../../../testing/fake-engine.js';
import type { WorkloadSpec, WorkloadState } from '../../runtime/runtime.js';
import { ContainerRuntime } from '../container-runtime.js';
import { EngineClient } from '../engine/engine-client.js';
import { ContainerRecords } from '../container-records.js';
import { EngineOutages } from './engine-outages.js';
import { endedByReboot, EngineStarts } from './engine-starts.js';

const id = '11111111-1111-4111-8111-111111111111';
const spec: WorkloadSpec = {
  ...{ id, image: 'x:1', command: ['/bin/true'], env: {}, mounts: [] },
  network: 'none',
};
const minute = 60_000;

describe('a container of an engine with live-restore after a reboot of the machine', () => {
  let engine: FakeEngine;
  let directory: string;
  let open: ContainerRuntime[];
  let names: { readonly name: string; readonly labels: unknown }[];
  /** State of the last container. */
  let state: Readonly<Record<string, unknown>>;

  beforeEach(async () => {
    engine = await FakeEngine.start();
    directory = await mkdtemp(join(tmpdir(), 'kedge-reboots-'));
    open = [];
    names = [];
    engine.answer = (request, response) => {
      const url = new URL(request.url ?? '', 'http://engine');
      const [, , kind = '', key = '', verb = ''] = url.pathname.split('/');
      const name = url.searchParams.get('name') ?? '';
      const body: Buffer[] = [];
      request.on('data', (chunk: Buffer) => body.push(chunk));
      request.on('end', () => {
        const found = names.find((each) => each.name === key);
        if (kind === 'info') return json(response, 200, { LiveRestoreEnabled: true });
        if (kind === 'images') return json(response, 200, { Id: 'sha256:1', RepoDigests: [] });
        if (kind === 'events') return void response.writeHead(200);
        if (key === 'json')
          return json(
            response,
            200,
            names.map(({ name: Id, labels: Labels }) => ({
              ...{ Id, Names: [`/${Id}`], Labels, State: state.Status },
            })),
          );
        if (key === 'create') {
          const { Labels: labels } = JSON.parse(String(Buffer.concat(body))) as { Labels: unknown };
          names.push({ name, labels });
          state = { Status: 'created' };
          return json(response, 201, { Id: name });
        }
        if (!found) return json(response, 404, { message: 'no such container' });
        if (verb === 'start') state = { Status: 'running', Pid: 1 };
        if (verb === 'start') return void response.writeHead(204).end();
        json(response, 200, {
          ...{ Id: key, Name: `/${key}`, Created: '2026-01-01T00:00:00Z', Image: 'sha256:1' },
          ...{ Config: { Labels: found.labels }, State: { ExitCode: 0, Error: '', ...state } },
        });
      });
    };
  });
  afterEach(async () => {
    for (const runtime of open) runtime.close();
    await engine.stop();
    await rm(directory, { recursive: true });
  });

  /** The runtime of a process of the daemon in a boot. */
  function daemon(bootId: string, startedAt = Date.now() - minute): ContainerRuntime {
    const runtime = new ContainerRuntime({
      engine: new EngineClient({ socketPath: engine.socketPath, clock: systemClock }),
      ...{ cluster: 'c', directory, clock: systemClock, logger: silentLogger },
      boot: () => Promise.resolve({ id: bootId, startedAt }),
    });
    open.push(runtime);
    return runtime;
  }

  async function run(bootId: string): Promise<void> {
    const runtime = daemon(bootId);
    await runtime.start(spec);
    await eventually('the run', async () => (await runtime.observe(id)).state === 'running');
    runtime.close();
  }

  /** The end of the container as the next process of the daemon reports it. */
  async function endIn(
    bootId: string,
    { code, beforeBoot }: { readonly code: number; readonly beforeBoot: number },
  ): Promise<WorkloadState> {
    const startedAt = Date.now() - minute;
    const ended = startedAt - beforeBoot;
    state = {
      Status: 'exited',
      ExitCode: code,
      StartedAt: new Date(ended - 60 * minute).toISOString(),
      FinishedAt: new Date(ended).toISOString(),
    };
    return daemon(bootId, startedAt).observe(id);
  }

  const ends = {
    'a power failure, which the engine saw at its start': { code: 255, beforeBoot: -20_000 },
    'the signal of the shutdown': { code: 143, beforeBoot: 30 * minute },
    'itself during the shutdown': { code: 0, beforeBoot: minute },
  };
  for (const [what, end] of Object.entries(ends))
    it(`was ended by the reboot if it was ended by ${what}`, async () => {
      await run('boot-1');
      const byReboot = await endIn('boot-2', end);
      expect(byReboot).to.include({ state: 'exited', run: 1, reason: 'EngineRestarted' });
      expect(await endIn('boot-1', end), 'without a reboot').to.not.have.property('reason');
    });

  it('ended by itself long before the reboot if it has an exit code of its own', async () => {
    await run('boot-1');
    for (const code of [0, 1])
      expect(await endIn('boot-2', { code, beforeBoot: 30 * minute })).to.not.have.property(
        'reason',
      );
  });

  it('is attributed by the boot of its own run, and by the exit code without a record', async () => {
    await run('boot-1');
    const power = { code: 255, beforeBoot: -20_000 };
    expect(await endIn('boot-2', power)).to.include({ reason: 'EngineRestarted' });
    await run('boot-2');
    expect(await readdir(join(directory, id))).to.include.members(['boot-1', 'boot-2']);
    expect(await endIn('boot-2', power))
      .to.include({ run: 2 })
      .and.not.have.property('reason');
    expect(await endIn('boot-3', power)).to.include({ reason: 'EngineRestarted' });
    // A run of an earlier release has no record.
    await rm(join(directory, id, 'boot-2'));
    expect(await endIn('boot-3', power)).to.not.have.property('reason');
  });

  it('was ended by the reboot if the clock was set back, so that it ends later than the engine was connected', async () => {
    const outages = new EngineOutages(systemClock);
    outages.connected(true);
    const records = new ContainerRecords(directory);
    await records.begin(id, 1, 'boot-1');
    const later = Date.now() + 60 * minute;
    const end = { startedAt: later - minute, exitedAt: later, exitCode: 255 };
    const endedIn = (bootId: string) =>
      new EngineStarts({
        engine: new EngineClient({ socketPath: engine.socketPath, clock: systemClock }),
        ...{ outages, records },
        boot: () => Promise.resolve({ id: bootId, startedAt: Date.now() - minute }),
      }).ended({ id, run: 1 }, end, new AbortController().signal);
    expect(await endedIn('boot-2')).to.equal('machine');
    expect(await endedIn('boot-1'), 'without a reboot').to.equal(undefined);
  });

  it('is attributed by the exit code if the clock was wrong after the boot', () => {
    const at = 1_000_000_000;
    const codes = [255, 137, 143, 0, 1].map((exitCode) =>
      endedByReboot({ startedAt: 0, exitedAt: at - 60 * minute, exitCode }, at),
    );
    expect(codes).to.deep.equal([true, true, true, false, false]);
  });
});
