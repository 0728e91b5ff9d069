import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { type Finished, TestDaemon } from '../daemon.js';

describe('kedge cast reports whether objects run', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
    await mkdir(join(daemon.home, 'files'), { recursive: true });
  });
  after(() => daemon.dispose());

  const cast = async (
    name: string,
    command: string,
    more = '',
    seconds = 120,
  ): Promise<Finished> => {
    const file = join(daemon.home, 'files', `${name}.yaml`);
    const fields = `name: ${name}\nruntime: process\nterminationGracePeriodSeconds: 1\n`;
    await writeFile(file, `kind: Service\n${fields}command: ${command}\n${more}`);
    return daemon.cli('cast', file, '--timeout', String(seconds));
  };
  const refused = ({ code, stdout, stderr }: Finished): string => {
    expect(code, stdout + stderr).to.equal(1);
    expect(stdout).to.not.contain('All objects are ready');
    return stderr;
  };

  it('a volume is not reported as grown before it is', async () => {
    const spec = { storageClassName: 'local', accessMode: 'ReadWriteOnce' };
    const parameters = { backing: 'image' };
    const path = '/v1/namespaces/default/volumes';
    await daemon.ok('POST', path, { name: 'grows', ...spec, size: '16Mi', parameters });
    await eventually('the volume', async () => {
      const { stdout } = await daemon.cli('get', 'volume', 'grows');
      return stdout.includes('Available');
    });
    // No file system supports a file of this size.
    const { code, stdout } = await daemon.cli('volume', 'resize', 'grows', '999Ti');
    expect(code).to.equal(0);
    expect(stdout).to.equal(
      'volumes/grows is being resized to 999Ti; kedge describe volume grows -n default shows the progress\n',
    );
    await eventually('the refusal', async () => {
      const described = await daemon.cli('describe', 'volume', 'grows', '-n', 'default');
      return described.stdout.includes("can't grow the volume");
    });
    const { stdout: shown } = await daemon.cli('get', 'volumes');
    expect(shown).to.match(/CAPACITY +SIZE .*\ngrows +local +Available +16Mi +999Ti /);
  });

  it('an empty result is reported', async () => {
    await daemon.ok('POST', '/v1/namespaces/default/secrets', { name: 'hollow' });
    expect((await daemon.cli('secret', 'reveal', 'hollow')).stderr).to.contain(
      'contains no values',
    );
    const none = await daemon.cli('get', 'configmaps', '-o', 'name', '-l', 'a=b');
    expect(none.stdout).to.equal('');
    expect(none.stderr).to.contain('No configmaps found');
  });

  it('a command that is not found is a failure that names it', async () => {
    expect(refused(await cast('missing', '[nosuch-program]'))).to.contain(
      "Instance default/missing-0: can't be started: command nosuch-program is not found in its PATH",
    );
  });

  it('a file that is not executable is a failure that names it', async () => {
    // A workload sees no file of the host below /tmp, where the daemon's are.
    const file = '/etc/passwd';
    expect(refused(await cast('plain', `[${file}]`))).to.contain(`${file} is not executable`);
  });

  it('a command that ends is a failure, whatever its exit code; its last output is shown', async () => {
    const failed = refused(await cast('fails', '[sh, -c, "echo the reason; exit 1"]'));
    expect(failed).to.contain('ended with exit code 1').and.contain('\n  the reason\n');
    expect(refused(await cast('ends', '[sh, -c, exit 0]'))).to.contain('ended with exit code 0');
  });

  it('a process that ended with exit code 0 and is not started again has completed', async () => {
    for (const policy of ['Never', 'OnFailure']) {
      const name = `job-${policy.toLowerCase()}`;
      const more = `restartPolicy: ${policy}\n`;
      const done = await cast(name, '[sh, -c, exit 0]', more);
      expect(done.code, done.stdout + done.stderr).to.equal(0);
      expect(done.stdout).to.contain(`Service default/${name} completed (exit code 0).`);
      expect(done.stdout).to.not.contain('All objects are ready');
    }
    const failed = await cast('job-fails', '[sh, -c, exit 4]', 'restartPolicy: Never\n');
    expect(refused(failed)).to.contain('ended with exit code 4');
  });

  it('a crash loop is a failure although each run begins', async () => {
    const stderr = refused(await cast('loops', '[sh, -c, "echo begun; sleep 1; exit 3"]'));
    expect(stderr).to.contain('ended with exit code 3').and.contain('  begun');
  });

  it('the cause is that of the volume behind the instance', async () => {
    const volume =
      'volumes:\n  - {name: d, mountPath: /d, claim: {name: absent-node}}\n---\nkind: Volume\nname: absent-node\nstorageClassName: local-host\nsize: 1Gi\naccessMode: ReadWriteOnce\nparameters: {hostPath: PATH}\n';
    const path = join(daemon.home, 'host', 'nothing-there');
    // A cast whose timeout ends before the first attempt reports an earlier cause. The next cast reports this one.
    const output = await eventually('a cast that reports the cause', async () => {
      const done = await cast('waits', '[sleep, "60"]', volume.replace('PATH', path), 4);
      expect(done.code).to.equal(done.stderr.includes('in time') ? 7 : 1);
      return done.stderr.includes('does not exist') ? done.stderr : undefined;
    });
    expect(output).to.match(
      /Service default\/waits: Volume default\/absent-node: .*does not exist/,
    );
    const described = await daemon.cli('describe', 'service', 'waits');
    expect(described.stdout).to.match(/^Cause: +Volume default\/absent-node: .*does not exist/m);
    const instance = await daemon.cli('describe', 'instance', 'waits-0');
    expect(instance.stdout).to.match(/^Cause: +Volume default\/absent-node: /m);
  });

  it('a workload is ready once it has run for minReadySeconds, and reports the remaining time', async () => {
    const path = '/v1/namespaces/default';
    const service = {
      name: 'slow',
      runtime: 'process',
      command: ['sleep', '600'],
      terminationGracePeriodSeconds: 1,
    };
    const put = (fields: object) =>
      daemon.rest('PUT', `${path}/services/slow`, { ...service, ...fields });
    const observed = async (): Promise<{ readonly ready?: string; readonly pid?: unknown }> => {
      const { body } = await daemon.rest('GET', `${path}/instances/slow-0`);
      const all = (body.conditions ?? []) as readonly Record<string, string>[];
      const ready = all.find(({ type }) => type === 'Ready');
      if (!ready) return {};
      return { ready: `${ready.status} ${ready.reason} ${ready.message}`, pid: body.pid };
    };
    await daemon.ok('POST', `${path}/services`, { ...service, minReadySeconds: 600 });
    const waiting = await eventually('the process', async () => {
      const now = await observed();
      return now.ready?.includes('ready in') ? now : undefined;
    });
    // A later report has less time left.
    expect(waiting.ready).to.match(
      /^False Starting process \d+ is running; ready in (600|5\d\d) s$/,
    );
    expect((await daemon.ok('GET', `${path}/services/slow`)).status).to.equal('Pending');
    // It takes effect on the running process.
    expect((await put({ minReadySeconds: 0 })).status).to.equal(200);
    const ready = await eventually('it to be ready', async () => {
      const now = await observed();
      return now.ready?.startsWith('True') ? now : undefined;
    });
    expect(ready.pid).to.equal(waiting.pid);
    expect((await put({})).status).to.equal(200);
    await daemon.crash();
    await daemon.answering();
    expect(await observed()).to.deep.equal(ready);
    expect((await put({ minReadySeconds: -1 })).status).to.equal(400);
  });
});
