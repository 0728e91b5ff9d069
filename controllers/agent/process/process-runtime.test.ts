import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import type { WorkloadSpec } from '../runtime/runtime.js';
import { ProcessRuntime } from './process-runtime.js';

describe('process runtime', function () {
  let base: string;
  let runtime: ProcessRuntime;
  const id = '0f6cbd92-1c31-4a3a-9c0e-222222222222';
  const make = () =>
    new ProcessRuntime({
      directory: join(base, 'data/instances'),
      hiddenDirectories: [join(base, 'data')],
      clock: systemClock,
    });
  const spec = (script: string, mounts: WorkloadSpec['mounts'] = []): WorkloadSpec => ({
    id,
    command: ['/bin/sh', '-c', script],
    env: { GREETING: 'hello' },
    workingDir: '/',
    mounts,
  });
  const ended = () =>
    eventually('the workload to end', async () => {
      const state = await runtime.observe(id);
      return state.state === 'exited' ? state : undefined;
    });
  const output = () => readFile(runtime.logFile(id), 'utf8');

  before(async function () {
    base = await mkdtemp(join(tmpdir(), 'kedge-run-'));
    const availability = await make().availability();
    if (availability.available) return;
    if (process.env.CI) throw new Error(`CI must run these: ${availability.message}`);
    console.log(`      skipped: ${availability.message}`);
    this.skip();
  });
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-run-'));
    await mkdir(join(base, 'data'));
    runtime = make();
  });
  afterEach(async () => {
    await runtime.stop(id, 0);
    await runtime.remove(id);
    runtime.close();
    await rm(base, { recursive: true });
  });

  it('runs a command with its environment and records output and exit code', async () => {
    await runtime.start(spec('echo "$GREETING $PATH"; echo oops >&2; exit 3'));
    expect((await ended()).exitCode).to.equal(3);
    expect(await output()).to.match(/^hello \/.*bin.*\noops\n$/);
  });

  it('an exit code that an earlier release could not record, because the disk was full, is unknown', async () => {
    await runtime.start(spec('exit 3'));
    await ended();
    await writeFile(join(base, 'data/instances', id, 'run-1/exit'), '');
    runtime.close();
    runtime = make();
    expect(await ended()).to.have.property('exitCode', undefined);
  });

  it('binds volumes at paths that leave no trace on the host, read-only if requested', async () => {
    const volume = join(base, 'volume');
    await mkdir(volume);
    const script = [
      'echo kept > /kedge-a/b/file',
      '(echo x > /var/kedge-deep/er/file) 2>/dev/null || echo refused',
      'cat /var/kedge-deep/er/file',
      'ls /var >/dev/null && echo var-is-there',
    ].join('; ');
    await runtime.start(
      spec(script, [
        { source: volume, target: '/kedge-a/b', readOnly: false },
        { source: volume, target: '/var/kedge-deep/er', readOnly: true },
      ]),
    );
    expect((await ended()).exitCode).to.equal(0);
    expect(await output()).to.equal('refused\nkept\nvar-is-there\n');
    expect(await readFile(join(volume, 'file'), 'utf8')).to.equal('kept\n');
    for (const path of ['/kedge-a', '/var/kedge-deep'])
      expect(await readFile(path).catch((e: NodeJS.ErrnoException) => e.code)).to.equal('ENOENT');
  });

  it("the error for a volume that can't be bound names its target, never its source", async () => {
    const source = join(base, 'named-by-a-secret');
    await runtime.start(spec('true', [{ source, target: '/kedge-a', readOnly: false }]));
    expect((await ended()).exitCode).to.equal(125);
    expect(await output()).to.contain('the volume at /kedge-a: its directory');
    expect(await output()).not.to.contain('named-by-a-secret');
  });

  it('hides the data directory of the daemon', async () => {
    await writeFile(join(base, 'data/kek'), 'key');
    await runtime.start(spec(`cat ${base}/data/kek; ls -A ${base}/data | wc -l`));
    await ended();
    expect(await output()).to.contain('No such file');
    expect((await output()).trim().endsWith('0')).to.equal(true);
  });

  it("a command that can't be spawned is refused, and the next one runs", async () => {
    const error = await runtime.start(spec('echo \0')).catch((e: unknown) => e);
    expect(error).to.be.instanceOf(Error);
    await runtime.start(spec('echo fine'));
    await ended();
    expect(await output()).to.equal('fine\n');
  });

  it('is adopted by another daemon, and not started twice', async () => {
    await runtime.start(spec('echo started; sleep 600'));
    await eventually('its output', async () => (await output()) !== '');
    const first = await runtime.observe(id);
    runtime.close();
    runtime = make();
    expect(await runtime.observe(id)).to.deep.equal(first);
    await runtime.start(spec('echo started; sleep 600'));
    expect(await output()).to.equal('started\n');
  });

  it('stops with SIGTERM, with SIGKILL after the grace period, and the whole process group', async () => {
    await runtime.start(spec('trap "echo bye; exit 0" TERM; sleep 600 & wait'));
    await eventually('the trap', async () => (await runtime.observe(id)).state === 'running');
    await runtime.stop(id, 5_000);
    await runtime.start(spec('trap "" TERM; echo deaf; while :; do sleep 1; done'));
    await eventually('the second run', async () => (await output()).includes('deaf'));
    await runtime.stop(id, 100);
    const state = await ended();
    expect(state).to.include({ exitCode: 137, requested: true });
  });

  it('requests a stop without waiting, signals once, and kills when the grace period is over', async () => {
    await runtime.start(spec('trap "echo asked" TERM; echo up; while :; do sleep 0.1; done'));
    await eventually('the trap', async () => (await output()).includes('up'));
    const first = await runtime.requestStop(id, 60_000);
    expect(first).to.include({ type: 'stopping' });
    await eventually('the signal', async () => (await output()).includes('asked'));
    await runtime.requestStop(id, 60_000);
    expect((await output()).match(/asked/g)).to.have.length(1);
    const changedId = new Promise<string>((resolve) => runtime.onChange(resolve));
    await runtime.requestStop(id, 0);
    expect(await changedId).to.equal(id);
    // The outcome of a slow start is notified too.
    await eventually('the end', async () => (await runtime.requestStop(id, 0)).type === 'gone');
  });

  it('a grace period of an earlier daemon continues', async () => {
    await runtime.start(spec('trap "" TERM; echo up; while :; do sleep 0.1; done'));
    await eventually('the trap', async () => (await output()).includes('up'));
    await runtime.requestStop(id, 60_000);
    const minuteAgo = String(systemClock.now() - 60_000);
    await writeFile(join(base, 'data/instances', id, 'run-1/stop-requested'), minuteAgo);
    runtime.close();
    runtime = make();
    await runtime.requestStop(id, 60_000);
    expect(await ended()).to.include({ exitCode: 137, requested: true });
  });

  describe('with a supervisor that does not work', () => {
    const broken = async (script: string, startTimeoutMs = 600_000): Promise<void> => {
      const supervisor = join(base, 'supervise.sh');
      await writeFile(supervisor, script);
      runtime = new ProcessRuntime({
        directory: join(base, 'data/instances'),
        hiddenDirectories: [],
        clock: systemClock,
        supervisor,
        startTimeoutMs,
      });
    };
    const failed = () =>
      eventually('the failure', async () => {
        const state = await runtime.observe(id);
        return state.state === 'startFailed' ? state : undefined;
      });

    it('a start fails with the last line of the log, also for a later daemon', async () => {
      await mkdir(join(base, 'data/instances', id), { recursive: true });
      await writeFile(runtime.logFile(id), 'a line of an earlier run\n');
      await broken('echo first; echo no space left on device >&2; exit 4');
      await runtime.start(spec('true'));
      const { message, run } = await failed();
      expect(run).to.equal(1);
      expect(message).to.equal(
        'its supervisor ended with exit code 4 before it started the workload: no space left on device',
      );
      runtime = make();
      expect(await runtime.observe(id)).to.include({ state: 'startFailed', message });
      await runtime.start(spec('echo second run'));
      expect((await ended()).run).to.equal(2);
    });

    it('a run that is not claimed in time is abandoned and reported', async () => {
      await broken('exec sleep 10', 2_000);
      const changedId = new Promise<string>((resolve) => runtime.onChange(resolve));
      await runtime.start(spec('true'));
      expect((await runtime.observe(id)).state).to.equal('starting');
      expect(await changedId).to.equal(id);
      expect((await failed()).message).to.equal(
        'its supervisor did not start the workload within 2 s',
      );
    });

    it('a start whose supervisor dies after its claim fails', async () => {
      await broken('mkdir "$1/claimed"; echo "$$ 1" >"$1/claimed/supervisor"; exit 1');
      await runtime.start(spec('true'));
      expect((await failed()).message).to.contain('ended with exit code 1');
    });
  });

  it('a run that was not claimed when it was abandoned is not started by a late supervisor', async () => {
    await mkdir(join(base, 'data/instances', id, 'run-1'), { recursive: true });
    expect((await runtime.observe(id)).state).to.equal('absent');
    await runtime.start(spec('echo second'));
    await ended();
    expect(await output()).to.equal('second\n');
  });

  it('removes the folders of earlier runs once a later one was started', async () => {
    for (const code of [1, 2, 3]) {
      await runtime.start(spec(`exit ${code}`));
      expect(await ended()).to.include({ run: code, exitCode: code });
    }
    const folders = async () =>
      (await readdir(join(base, 'data/instances', id))).filter((name) => name.startsWith('run-'));
    await eventually('one folder', async () => (await folders()).join() === 'run-3');
    expect(await runtime.observe(id)).to.include({ run: 3, exitCode: 3 });
  });

  it('reads the end of a run once, and again after a removal', async () => {
    await runtime.start(spec('exit 1'));
    const end = await ended();
    const file = join(base, 'data/instances', id, 'run-1/exit');
    await writeFile(file, '7\n');
    expect(await runtime.observe(id)).to.deep.equal(end);
    await runtime.remove(id);
    await runtime.start(spec('exit 2'));
    expect(await ended()).to.include({ run: 1, exitCode: 2 });
  });

  it('reports an exit soon after it happens', async () => {
    const changedId = new Promise<string>((resolve) => runtime.onChange(resolve));
    await runtime.start(spec('sleep 0.2'));
    expect(await changedId).to.equal(id);
  });
});
