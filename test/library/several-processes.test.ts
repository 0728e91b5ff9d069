import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { reconcileRecords } from 'kedge';
import { RemoteStore } from 'kedge/client';
import { eventually } from 'kedge/testing';
import { jobs } from './processes/jobs.js';

interface Line {
  readonly event: string;
  readonly [more: string]: unknown;
}

/** A program of the folder `processes` with its output. */
class Program {
  readonly child: ChildProcess;
  readonly lines: Line[] = [];
  readonly errors: string[] = [];

  constructor(name: string, args: readonly string[]) {
    const path = fileURLToPath(new URL(`processes/${name}.js`, import.meta.url));
    this.child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    const { stdout, stderr } = this.child;
    if (!stdout || !stderr) throw new TypeError('no output');
    createInterface({ input: stdout }).on('line', (text) =>
      this.lines.push(JSON.parse(text) as Line),
    );
    createInterface({ input: stderr }).on('line', (text) => this.errors.push(text));
  }

  async waitFor(event: string, more: object = {}): Promise<Line> {
    const found = (): Line | undefined =>
      this.lines.find((line) =>
        Object.entries({ event, ...more }).every(([key, value]) => line[key] === value),
      );
    try {
      return await eventually(`${event} ${JSON.stringify(more)}`, found, 60_000);
    } catch (error) {
      const output = [...this.lines.map((line) => JSON.stringify(line)), ...this.errors];
      throw new Error(`${String(error)}; its output:\n${output.join('\n')}`, { cause: error });
    }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, 'exit');
    this.child.kill(signal);
    await gone;
  }
}

describe('several processes over one store', function () {
  this.timeout(180_000);
  let directory: string;
  let programs: Program[];
  let server: Program;
  let port: number;
  let token: string;
  let store: RemoteStore;

  const start = (name: string, ...args: readonly string[]): Program => {
    const program = new Program(name, args);
    programs.push(program);
    return program;
  };
  const serve = async (): Promise<void> => {
    server = start('server', directory, String(port));
    const serving = await server.waitFor('serving');
    port = Number(serving.port);
    token = String(serving.token);
  };
  const work = (identity: string, mode = ''): Program =>
    start('worker', `127.0.0.1:${port}`, token, identity, mode);
  const job = (name: string) => store.create(jobs, { namespace: 'default', name, amount: 1 });
  const paid = (name: string): Promise<boolean> =>
    eventually(
      `${name} paid`,
      async () => (await store.get(jobs, { namespace: 'default', name }))?.paid === true,
      60_000,
    );

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-processes-'));
    programs = [];
    port = 0;
    await serve();
    store = await RemoteStore.connect({ server: `127.0.0.1:${port}`, token });
  });
  afterEach(async () => {
    await store.close();
    for (const program of programs) await program.kill();
    await rm(directory, { recursive: true });
  });

  it('when the leader is killed during an effect, the standby takes over and repeats it under the same key', async () => {
    const first = work('one', 'hang');
    await first.waitFor('leading');
    const second = work('two');
    await second.waitFor('ready');
    await job('a');
    const { idempotencyKey } = await first.waitFor('paying', { job: 'a' });
    expect(second.lines.some(({ event }) => event === 'leading')).to.equal(false);
    await first.kill();
    await second.waitFor('leading');
    expect((await second.waitFor('paying', { job: 'a' })).idempotencyKey).to.equal(idempotencyKey);
    await paid('a');
    const stored = await store.get(jobs, { namespace: 'default', name: 'a' });
    expect(stored?.receipt).to.equal(idempotencyKey);
    expect(stored?.by).to.equal('two');
  });

  it('a leader that resumes after a stop is refused by the fence inside the commit', async () => {
    const first = work('one', 'beat');
    await first.waitFor('leading');
    const second = work('two');
    await second.waitFor('ready');
    await eventually(
      'a beat',
      async () => (await store.list(jobs, { namespace: 'beats' })).items.length > 3,
    );
    first.child.kill('SIGSTOP');
    await second.waitFor('leading');
    const before = (await store.list(jobs, { namespace: 'beats' })).items.length;
    first.child.kill('SIGCONT');
    const refused = await first.waitFor('refused');
    expect([refused.code, refused.reason]).to.deep.equal(['FailedPrecondition', 'LeadershipLost']);
    const beats = (await store.list(jobs, { namespace: 'beats' })).items.map(({ name }) => name);
    // A write in progress at the stop may have arrived before the lease was taken.
    expect(beats).to.not.include(refused.name);
    expect(beats.length).to.be.lessThanOrEqual(before);
    await first.waitFor('lost');
    await job('b');
    await paid('b');
    expect((await store.get(jobs, { namespace: 'default', name: 'b' }))?.by).to.equal('two');
  });

  it('when the server is killed, the worker continues with the next one: each job is paid, under one key', async () => {
    const worker = work('one', 'patient');
    await worker.waitFor('leading');
    await job('before');
    await paid('before');
    await server.kill();
    const later = job('meanwhile').then(
      () => true,
      () => false,
    );
    await serve();
    if (!(await later)) await job('meanwhile');
    await job('after');
    await paid('meanwhile');
    await paid('after');
    for (const name of ['before', 'meanwhile', 'after']) {
      const keys = worker.lines.filter((line) => line.event === 'paying' && line.job === name);
      expect(new Set(keys.map(({ idempotencyKey }) => idempotencyKey)).size, name).to.equal(1);
    }
    // A run after the takeover ends with the same timer as the one before it.
    const keys = ['default/after', 'default/before', 'default/meanwhile'];
    await eventually('a timer of an hour for each job', async () => {
      const { items } = await store.list(reconcileRecords);
      const due = items.filter(({ dueAt }) => (dueAt ?? 0) > Date.now() + 3_000_000);
      return isDeepStrictEqual(due.map(({ key }) => key).sort(), keys);
    });
  });

  it('the store of a worker refuses a deletion, other kinds and a finalizer that its policy does not permit', async () => {
    const refusals = await Promise.all(
      [
        store.deleteByName(jobs, { namespace: 'default', name: 'x' }),
        store.list({ ...jobs, kind: 'User', plural: 'users' }),
        store.list({ ...jobs, kind: 'SystemState', plural: 'systemstates' }),
        store.transact([
          {
            op: 'create',
            kind: jobs,
            object: { namespace: 'default', name: 'x', metadata: { finalizers: ['x/y'] } },
          },
        ]),
      ].map((asked) =>
        asked.then(
          () => 'OK',
          (error: { code: string }) => error.code,
        ),
      ),
    );
    expect(refusals).to.deep.equal([
      'PermissionDenied',
      'InvalidArgument',
      'InvalidArgument',
      'PermissionDenied',
    ]);
  });
});
