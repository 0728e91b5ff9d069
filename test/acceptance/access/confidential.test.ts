import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon, workload } from '../daemon.js';

const base = '/v1/namespaces/default';

describe('values of secrets that parameters refer to', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let hidden: string;
  before(async () => {
    daemon = await TestDaemon.start();
    hidden = join(daemon.home, 'host', 'hidden-place');
    await mkdir(hidden, { recursive: true });
  });
  after(() => daemon.dispose());

  const secret = (name: string, path: string) =>
    daemon.ok('POST', `${base}/secrets`, { name, data: { path } });
  const volume = (name: string, reference: string) =>
    daemon.ok('POST', `${base}/volumes`, {
      name,
      storageClassName: 'local-host',
      size: '1Mi',
      accessMode: 'ReadWriteOnce',
      parameters: { hostPath: `secret:${reference}/path` },
    });
  const until = (path: string, status: string) =>
    eventually(`${path} ${status}`, async () => {
      const { body } = await daemon.rest('GET', `${base}/${path}`);
      return body.status === status;
    });
  /** The objects and events that the API returns, and the log of the daemon. */
  const answersText = async (): Promise<string> => {
    const paths = ['volumes', 'instances', 'services', 'events', 'volumes/v:describe'];
    const answers = await Promise.all(
      [...paths, 'volumes/bad:describe', 'instances/v-0:describe'].map(async (path) =>
        JSON.stringify((await daemon.rest('GET', `${base}/${path}`)).body),
      ),
    );
    return [...answers, daemon.log].join('\n');
  };

  it('are in no handle, message, event, description or log line, and the volume works', async () => {
    await secret('place', hidden);
    await secret('wrong', join(hidden, 'missing-place'));
    await volume('v', 'place');
    await volume('bad', 'wrong');
    await until('volumes/v', 'Available');
    await until('volumes/bad', 'Failed');
    const { service } = workload(daemon, 'v', 'echo written > /data/file; sleep 600');
    await daemon.ok('POST', `${base}/services`, service);
    await until('instances/v-0', 'Running');
    await eventually(
      'the file on the host',
      async () => (await readFile(join(hidden, 'file'), 'utf8').catch(() => '')) === 'written\n',
    );
    expect((await daemon.ok('GET', `${base}/volumes/v`)).handle).to.equal('********');
    expect(await answersText()).to.not.contain('hidden-place');
    await daemon.crash();
    await until('instances/v-0', 'Running');
    await daemon.ok('DELETE', `${base}/services/v`);
    await until('volumes/v', 'Available');
    expect(await answersText()).to.not.contain('hidden-place');
  });

  it('two volumes with the same path from secrets share one storage', async () => {
    await volume('again', 'place');
    await until('volumes/again', 'Available');
    for (const name of ['v', 'again'])
      await daemon.ok('POST', `${base}/services`, workload(daemon, name, 'sleep 600').service);
    await until('instances/v-0', 'Running');
    await eventually('the other to wait', async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/again-0`);
      return JSON.stringify(body.conditions ?? []).includes('have the same handle ********');
    });
    await daemon.ok('DELETE', `${base}/services/v`);
    await until('instances/again-0', 'Running');
  });
});
