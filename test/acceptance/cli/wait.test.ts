import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { root, TestDaemon, workload } from '../daemon.js';
import { runner } from './run.js';

const base = '/v1/namespaces/default';

describe('kedge wait', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  const run = runner(() => daemon);
  before(async () => {
    daemon = await TestDaemon.start();
    const { volume, service } = workload(daemon, 'web', 'sleep 600');
    await daemon.ok('POST', `${base}/volumes`, { ...volume, labels: { app: 'web' } });
    await daemon.ok('POST', `${base}/services`, service);
  });
  after(() => daemon.dispose());

  /** Runs a command; resolves with its exit code and its output. */
  function waiting(
    args: string,
  ): Promise<{ readonly code: number | null; readonly output: string }> {
    const child = spawn(process.execPath, ['cmd/bin/kedge.mjs', ...args.split(' ')], {
      cwd: root,
      env: { ...process.env, ...daemon.cliEnvironment },
    });
    let output = '';
    child.stdout.on('data', (data) => (output += String(data)));
    child.stderr.on('data', (data) => (output += String(data)));
    return new Promise((resolve) => {
      child.on('close', (code) => resolve({ code, output }));
    });
  }

  it('for a status or a condition, of objects by name, by selector and all; an impossible status is refused', async () => {
    expect(await run('wait service web --for status=Running --timeout 60')).to.contain(
      'services/web is Running\n',
    );
    expect(await run('wait instance/web-0 --for condition=Ready')).to.contain(
      'instances/web-0 has condition Ready=True\n',
    );
    const output = await run('wait service/web volume/web --for status=Running', 6);
    expect(output).to.contain('volumes never have the status "Running"');
    expect(await run('wait volume -l app=web --for status=Bound')).to.contain('is Bound');
    expect(await run('wait instances --all --for condition=VolumesReady')).to.contain('web-0');
  });

  it('ends with exit code 7 after its timeout, and reports the state', async () => {
    expect(await run('wait volume/web --for status=Released --timeout 0', 7)).to.match(
      /the condition was not met within 0 s:\n {2}volumes\/web is Bound/,
    );
    expect(await run('wait instance/web-0 --for condition=Redy --timeout 0', 7)).to.contain(
      'did you mean Ready?',
    );
    expect(await run('wait volume/web --for delete --timeout 0', 7)).to.contain('still exists');
  });

  it('for a missing object, or without objects, fails', async () => {
    expect(await run('wait volume/absent --for status=Bound', 4)).to.contain('absent');
    expect(await run('wait snapshots --all --for status=Ready', 4)).to.contain(
      'no snapshots exist in namespace default; create one first',
    );
    expect(await run('wait snapshots -l a=b --for status=Ready', 4)).to.contain(
      'no snapshots in namespace default match the selector; correct --selector',
    );
    expect(await run('wait volumes --for status=Bound', 2)).to.contain('--all');
    expect(await run('wait volume/web --for status=Bund', 6)).to.contain('did you mean Bound?');
    expect(await run('wait volume/web --for gone', 6)).to.contain('status=STATUS or delete');
    await run('wait volume/web', 2);
  });

  it('ignores a status from before the last change of an object', async () => {
    // The condition is still True for the previous template.
    const { service } = workload(daemon, 'web', 'sleep 700');
    await daemon.ok('PUT', `${base}/services/web`, service);
    const changed = await daemon.ok('GET', `${base}/services/web`);
    await run('wait service/web --for status=Running');
    const after = await daemon.ok('GET', `${base}/services/web`);
    const { generation } = changed['metadata'] as { readonly generation: number };
    expect(after['observedGeneration']).to.be.at.least(generation);
  });

  it('for a deletion ends when the object is removed, while other waits for it fail', async () => {
    await daemon.ok('POST', `${base}/volumes`, {
      name: 'short',
      size: '16Mi',
      accessMode: 'ReadWriteOnce',
    });
    await run('wait volume/short --for status=Available');
    const gone = waiting('wait volume/short --for delete');
    const never = waiting('wait volume/short --for status=Released');
    expect(await run('wait volume/nothing --for delete')).to.equal(
      'volumes/nothing does not exist\n',
    );
    await daemon.ok('DELETE', `${base}/volumes/short`);
    const first = await gone;
    expect(first.code, first.output).to.equal(0);
    expect(first.output).to.match(/is deleted|does not exist/);
    const second = await never;
    expect(second.code, second.output).to.equal(4);
    expect(second.output).to.match(/was deleted before|does not exist/);
  });

  it('that is interrupted reports what continues, like a cast and a deletion, and ends with 130', async () => {
    const deaf = {
      kind: 'Service',
      name: 'deaf',
      runtime: 'process',
      command: ['/bin/sh', '-c', 'trap : TERM; while :; do sleep 1; done'],
      minReadySeconds: 600,
      terminationGracePeriodSeconds: 8,
    };
    const file = join(daemon.home, 'deaf.yaml');
    await writeFile(file, JSON.stringify(deaf));
    const interrupted = async (args: readonly string[], shown: string): Promise<string> => {
      const child = spawn(process.execPath, ['cmd/bin/kedge.mjs', ...args], {
        cwd: root,
        env: { ...process.env, ...daemon.cliEnvironment },
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (data) => (output += String(data)));
      const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
      await eventually(`"${shown}"`, () => output.includes(shown), 30_000);
      child.kill('SIGINT');
      expect(await ended, output).to.equal(130);
      return output;
    };
    const cast = await interrupted(['cast', file], 'ready in');
    expect(cast).to.contain('Interrupted: the objects are stored, and kedged continues');
    expect(cast).to.match(/ get all shows .* delete -f FILE deletes them/);
    const waits = ['wait', 'service/deaf', '--for', 'status=Running'];
    expect(await interrupted(waits, 'Waiting: services/deaf')).to.contain(
      'Interrupted: the wait changed nothing',
    );
    const removal = await interrupted(['delete', 'service', 'deaf'], 'is being deleted');
    expect(removal).to.match(
      /Interrupted: the deletion continues; .*describe services\/deaf -n default/,
    );
    await eventually(
      'its end',
      async () => {
        const { status } = await daemon.rest('GET', `${base}/services/deaf`);
        return status === 404;
      },
      60_000,
    );
  });
});
