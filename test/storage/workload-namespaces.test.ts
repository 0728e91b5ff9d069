import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { ProcessRuntime } from '@kedge/controllers';
import { requireDevices } from '../drivers/devices.js';
import type { RunnerOrder } from './workload-runner.js';

const runner = fileURLToPath(new URL('workload-runner.js', import.meta.url));
const id = '0f6cbd92-1c31-4a3a-9c0e-444444444444';

describe('a workload of another pid namespace', function () {
  this.timeout(180_000);
  let base: string;
  let other: ChildProcess | undefined;
  let runtime: ProcessRuntime;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-workload-namespaces-'));
    await mkdir(join(base, 'instances'));
    runtime = new ProcessRuntime({
      directory: join(base, 'instances'),
      hiddenDirectories: [],
      clock: systemClock,
    });
  });
  afterEach(async () => {
    await endOther();
    runtime.close();
    await rm(base, { recursive: true, force: true });
  });

  /** The namespace and all its processes end with its first process. */
  async function endOther(): Promise<void> {
    if (!other || other.exitCode !== null || other.signalCode !== null) return;
    const gone = new Promise((resolve) => other?.once('exit', resolve));
    other.kill('SIGKILL');
    await gone;
  }

  it('is neither ended nor stopped, and is not restarted, until it has ended', async () => {
    const spec = { id, command: ['sleep', '600'], env: {}, workingDir: '/', mounts: [] };
    const order: RunnerOrder = {
      directory: join(base, 'instances'),
      hiddenDirectories: [],
      spec,
    };
    const inside = ['--pid', '--fork', '--kill-child', '--mount-proc', '--'];
    other = spawn('unshare', [...inside, process.execPath, runner, JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise<void>((resolve, reject) => {
      other?.stdout?.once('data', () => resolve());
      other?.once('exit', () => reject(new Error('the daemon of the other namespace ended')));
    });
    const calls = [
      () => runtime.observe(id),
      () => runtime.start(spec),
      () => runtime.requestStop(id, 0),
      () => runtime.stop(id, 0),
    ];
    for (const call of calls) {
      const error: unknown = await call().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(String(error)).to.match(/another pid namespace and may still run.*run kedged in that/);
    }
    await endOther();
    await eventually('its end', async () => (await runtime.observe(id)).state === 'exited');
    expect(await runtime.requestStop(id, 0)).to.deep.equal({ type: 'gone' });
  });
});
