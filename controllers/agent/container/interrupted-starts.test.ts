import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { silentLogger, systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { FakeEngine, json } from '../../testing/fake-engine.js';
import type { WorkloadSpec } from '../runtime/runtime.js';
import { ContainerRuntime } from './container-runtime.js';
import { EngineClient } from './engine/engine-client.js';
import { killUnrecorded, UnrecordedProcesses } from './engine/unrecorded-processes.js';

const id = '11111111-1111-4111-8111-111111111111';
const spec: WorkloadSpec = {
  id,
  image: 'x:1',
  command: ['/bin/true'],
  env: {},
  mounts: [],
  network: 'none',
};

interface Container {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  state: string;
  error?: string;
}

/** The engine's reaction to a start. For those with `breaks`, the connection ends without an answer. */
type Start = 'runs' | 'ends' | 'breaks' | 'breaks but runs' | 'breaks with an error' | 'fails';

describe('a start of a container that is interrupted', () => {
  let engine: FakeEngine;
  let directory: string;
  let open: ContainerRuntime[];
  let containers: Map<string, Container>;
  let starts: Start[];
  /** Whether the engine refuses to create a container. */
  let refusesCreation: boolean;
  /** While it is set, every name is in use for the engine, which answers creations once the promise is settled. */
  let busy: Promise<void> | undefined;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://engine');
    const [, , kind = '', key = '', verb = ''] = url.pathname.split('/');
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    const found = containers.get(key);
    if (kind === 'info') return json(response, 200, { LiveRestoreEnabled: true });
    if (kind === 'images') return json(response, 200, { Id: 'sha256:1', RepoDigests: [] });
    if (kind === 'events') return void response.writeHead(200);
    if (kind === 'containers' && key === 'json')
      return json(
        response,
        200,
        [...containers.values()].map(({ name, labels: Labels, state: State }) => ({
          Id: name,
          Names: [`/${name}`],
          Labels,
          State,
        })),
      );
    if (key === 'create' && refusesCreation) return json(response, 500, { message: 'no subnet' });
    if (key === 'create') {
      const name = url.searchParams.get('name') ?? '';
      const isBusy = busy !== undefined;
      await busy;
      if (isBusy || containers.has(name))
        return json(response, 409, { message: 'the name is in use' });
      const { Labels } = JSON.parse(String(Buffer.concat(body))) as { Labels: never };
      containers.set(name, { name, labels: Labels, state: 'created' });
      return json(response, 201, { Id: name });
    }
    if (!found) return json(response, 404, { message: 'no such container' });
    if (verb === 'start') {
      const what = starts.shift() ?? 'runs';
      if (what === 'fails') return json(response, 500, { message: 'the port is taken' });
      if (what === 'runs' || what === 'breaks but runs') found.state = 'running';
      if (what === 'breaks with an error') found.error = 'transport is closing: unavailable';
      if (what === 'ends') found.state = 'exited';
      if (what.startsWith('breaks')) return void request.socket.destroy();
      return void response.writeHead(204).end();
    }
    if (request.method === 'DELETE') {
      if (found.state === 'running') return json(response, 409, { message: 'it is running' });
      containers.delete(key);
      return void response.writeHead(204).end();
    }
    json(response, 200, {
      Id: found.name,
      Name: `/${found.name}`,
      Created: '2026-01-01T00:00:00Z',
      Image: 'sha256:1',
      Config: { Labels: found.labels },
      State: { Status: found.state, Pid: 1, ExitCode: 0, Error: found.error ?? '' },
    });
  };

  /** Creates the runtime of another process of the daemon, with the same directory. */
  const daemon = (): ContainerRuntime => {
    const runtime = new ContainerRuntime({
      engine: new EngineClient({ socketPath: engine.socketPath, clock: systemClock }),
      cluster: 'c',
      directory,
      clock: systemClock,
      logger: silentLogger,
    });
    open.push(runtime);
    return runtime;
  };
  /** Starts the workload and waits until the start has ended, also with an error. */
  const attempt = async (
    runtime: ContainerRuntime,
    more: Partial<WorkloadSpec> = {},
  ): Promise<void> => {
    await runtime.start({ ...spec, ...more }).catch(() => undefined);
    await eventually(
      'the end of the start',
      async () => (await runtime.observe(id)).state !== 'starting',
    );
  };
  const names = () =>
    [...containers.values()].map(({ name, state }) => `${name.slice(-2)} ${state}`);

  beforeEach(async () => {
    engine = await FakeEngine.start();
    refusesCreation = false;
    engine.answer = (request, response) => void answer(request, response);
    directory = await mkdtemp(join(tmpdir(), 'kedge-starts-'));
    open = [];
    starts = [];
    busy = undefined;
    containers = new Map();
  });
  afterEach(async () => {
    for (const runtime of open) runtime.close();
    await engine.stop();
    await rm(directory, { recursive: true });
  });

  it('is the same run in the next process, with the container that exists', async () => {
    starts = ['breaks', 'runs'];
    await attempt(daemon());
    expect(names()).to.deep.equal(['-1 created']);
    const next = daemon();
    expect(await next.observe(id)).to.deep.equal({ state: 'absent' });
    await attempt(next);
    expect(await next.observe(id)).to.include({ state: 'running', run: 1 });
    expect(names()).to.deep.equal(['-1 running']);
    expect(engine.calls.filter((call) => call.includes('/create'))).to.have.lengthOf(1);
  });

  it('leaves no network of the cluster if the workload is removed before a container of it ran', async () => {
    starts = ['fails'];
    const runtime = daemon();
    await attempt(runtime);
    expect(names()).to.deep.equal(['-1 created']);
    expect(await runtime.requestStop(id, 0)).to.deep.equal({ type: 'gone' });
    expect(names()).to.deep.equal([]);
    engine.calls.length = 0;
    await runtime.remove(id);
    expect(engine.calls.filter((call) => call.includes('/networks'))).to.have.lengthOf(1);
  });

  it('replaces that container if the workload has changed meanwhile, or if it can not be started', async () => {
    starts = ['breaks', 'breaks', 'fails', 'runs'];
    await attempt(daemon());
    await attempt(daemon(), { env: { A: '1' } });
    const next = daemon();
    await attempt(next, { env: { A: '1' } });
    expect(await next.observe(id)).to.include({ state: 'running', run: 1 });
    expect(engine.calls.filter((call) => call.includes('/create'))).to.have.lengthOf(3);
    expect(engine.calls.filter((call) => call.startsWith('DELETE'))).to.have.lengthOf(2);
  });

  it('replaces the container of an earlier release, which has another name', async () => {
    starts = ['breaks', 'runs'];
    await attempt(daemon());
    const [found] = containers.values();
    containers.clear();
    if (found) containers.set(`kedge-${id}-1`, { ...found, name: `kedge-${id}-1` });
    const next = daemon();
    for (let n = 0; n < 2; n += 1) await attempt(next);
    expect(await next.observe(id)).to.include({ state: 'running', run: 1 });
    expect([...containers.keys()]).to.deep.equal([`kedge-c-${id}-1`]);
  });

  it('is observed as running if the engine started the container although its answer was lost', async () => {
    starts = ['breaks but runs'];
    const runtime = daemon();
    await attempt(runtime);
    expect(await runtime.observe(id)).to.include({ state: 'running', run: 1 });
    await attempt(runtime);
    expect(names()).to.deep.equal(['-1 running']);
  });

  it('is the same run if the engine was stopped during the start, and recorded its own end as an error', async () => {
    starts = ['breaks with an error', 'runs'];
    const runtime = daemon();
    await attempt(runtime);
    expect(await runtime.observe(id)).to.deep.equal({ state: 'absent' });
    await attempt(runtime);
    expect(await runtime.observe(id)).to.include({ state: 'running', run: 1 });
  });

  it('is another run after a failure, and keeps the log of the last run that has one', async () => {
    starts = ['ends', 'fails', 'breaks', 'runs'];
    const runtime = daemon();
    for (let n = 0; n < 3; n += 1) await attempt(runtime);
    expect(names()).to.deep.equal(['-1 exited', '-3 created']);
    const next = daemon();
    await attempt(next);
    expect(await next.observe(id)).to.include({ state: 'running', run: 3 });
    expect(names()).to.deep.equal(['-1 exited', '-3 running']);
  });

  it('has withoutContainer if it failed before its container was created, and not if the container did not start', async () => {
    const runtime = daemon();
    refusesCreation = true;
    await attempt(runtime);
    expect(await runtime.observe(id)).to.deep.equal({
      ...{ state: 'startFailed', run: 1, withoutContainer: true },
      message: 'no subnet',
    });
    refusesCreation = false;
    starts = ['fails', 'runs'];
    await attempt(runtime);
    const failed = await runtime.observe(id);
    expect(failed)
      .to.include({ state: 'startFailed', run: 2 })
      .and.not.have.property('withoutContainer');
    await attempt(runtime);
    expect(await runtime.observe(id)).to.include({ state: 'running', run: 3 });
  });

  it('fails with the reason while the name is in use for the engine, at once or later', async () => {
    const runtime = daemon();
    const changes: string[] = [];
    runtime.onChange((changed) => changes.push(changed));
    const refusal = () => runtime.start(spec).then(() => '', String);
    busy = Promise.resolve();
    expect(await refusal()).to.contain('is not ready to be started');
    let end: () => void = () => undefined;
    busy = new Promise((resolve) => (end = resolve));
    // The start continues in the background, and the next one reports its error.
    await runtime.start(spec);
    expect(await runtime.observe(id)).to.include({ state: 'starting' });
    changes.length = 0;
    end();
    await eventually('the end of the start', () => changes.includes(id));
    expect(await refusal()).to.contain('is not ready to be started');
    busy = undefined;
    await attempt(runtime);
    expect(await runtime.observe(id)).to.include({ state: 'running', run: 1 });
  });

  it('fails if a container of another program has its name, and the next run starts', async () => {
    const taken = `kedge-c-${id}-1`;
    containers.set(taken, { name: taken, labels: {}, state: 'running' });
    const runtime = daemon();
    await attempt(runtime);
    const failed = await runtime.observe(id);
    expect(failed).to.include({ state: 'startFailed', run: 1 });
    expect(JSON.stringify(failed)).to.contain(`remove that container (docker rm -f ${taken})`);
    await attempt(runtime);
    expect(await runtime.observe(id)).to.include({ state: 'running', run: 2 });
    expect(names()).to.deep.equal(['-1 running', '-2 running']);
  });

  it('leaves no process behind that the engine does not know', async () => {
    const container = 'c0ffee';
    const processes: ChildProcess[] = [1, 2].map(() => spawn('sleep', ['600']));
    const ended = Promise.all(processes.map((child) => once(child, 'exit')));
    const proc = join(directory, 'proc');
    const [shim, inside] = processes.map(({ pid }) => String(pid));
    const add = async (pid: string, cmdline: string, cgroup: string): Promise<void> => {
      await mkdir(join(proc, pid), { recursive: true });
      await writeFile(join(proc, pid, 'cmdline'), cmdline.replaceAll(' ', '\0'));
      await writeFile(join(proc, pid, 'cgroup'), cgroup);
    };
    await add(
      String(shim),
      `/usr/bin/containerd-shim-runc-v2 -namespace moby -id ${container}`,
      '',
    );
    await add(String(inside), 'sleep 600', `4:pids:/docker/${container}`);
    await add(String(process.pid), 'containerd-shim-runc-v2 -id other', '4:pids:/docker/other');
    await killUnrecorded(container, proc);
    await ended;
    // Processes that have ended are no error. A process that can't be killed is reported.
    await eventually('both to be gone', async () => {
      await killUnrecorded(container, proc);
      return true;
    });
    const kill = process.kill.bind(process);
    process.kill = () => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
    };
    try {
      const refused = await killUnrecorded(container, proc).catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(UnrecordedProcesses);
      expect(String(refused)).to.contain(`end it: sudo kill -9 ${shim}`);
    } finally {
      process.kill = kill;
    }
  });
});
