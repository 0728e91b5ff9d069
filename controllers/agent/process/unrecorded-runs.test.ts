import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { isAlive, readProcessId } from '../launch/process-table.js';
import { ProcessRuntime } from './process-runtime.js';

const id = '11111111-2222-4333-8444-666666666666';
const other = '11111111-2222-4333-8444-777777777777';

describe('a process whose record was removed while it runs', function () {
  this.timeout(180_000);
  let folder: string;
  let instances: string;
  let runtimes: ProcessRuntime[];

  beforeEach(async function () {
    folder = await mkdtemp(join(tmpdir(), 'kedge-unrecorded-'));
    instances = join(folder, 'instances');
    runtimes = [];
    const availability = await open().availability();
    if (availability.available) return;
    if (process.env.CI) throw new Error(`CI must run these: ${availability.message}`);
    console.log(`      skipped: ${availability.message}`);
    this.skip();
  });
  afterEach(async () => {
    const [runtime] = runtimes;
    for (const each of [id, other]) await runtime?.stop(each, 0);
    for (const each of runtimes) each.close();
    await rm(folder, { recursive: true });
  });

  /** The runtime of another process of the daemon. */
  function open(): ProcessRuntime {
    const options = { directory: instances, hiddenDirectories: [], clock: systemClock };
    const runtime = new ProcessRuntime(options);
    runtimes.unshift(runtime);
    return runtime;
  }

  async function started(runtime: ProcessRuntime, workload: string) {
    await runtime.start({
      id: workload,
      command: ['/bin/sh', '-c', 'trap "" TERM; while :; do sleep 1; done'],
      env: {},
      workingDir: '/',
      mounts: [],
    });
    await eventually(
      'it to run',
      async () => (await runtime.observe(workload)).state === 'running',
    );
    return readProcessId(join(instances, workload, 'run-1', 'pid'))!;
  }

  for (const [where, reopened] of [
    ['the same daemon', false],
    ['the next daemon', true],
  ] as const) {
    it(`is ended before ${where} starts it again, and no other is`, async () => {
      let runtime = open();
      const first = await started(runtime, id);
      const beside = await started(runtime, other);
      await rm(join(instances, id), { recursive: true });
      if (reopened) runtime = open();
      const second = await started(runtime, id);
      expect([isAlive(first), isAlive(second), isAlive(beside)]).to.deep.equal([false, true, true]);
    });

    it(`is ended by a stop of ${where}`, async () => {
      let runtime = open();
      const first = await started(runtime, id);
      await rm(join(instances, id), { recursive: true });
      if (reopened) runtime = open();
      await runtime.stop(id, 60_000);
      expect(isAlive(first)).to.equal(false);
      expect(await readFile(`/proc/${first.pid}/cmdline`, 'utf8').catch(() => '')).to.equal('');
    });
  }
});
