import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { expect } from 'chai';
import { dataFilesDirectory } from '@kedge/controllers';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';

describe('secretMounts and configmapMounts', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  const running = (name: string) =>
    eventually(`${name} Running`, async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/${name}`);
      return body.status === 'Running';
    });

  it('secrets and configmaps are mounted as files that follow changes, hidden from other workloads', async () => {
    const secret = (password: string) => ({ name: 'login', data: { password, user: 'ann' } });
    const service = {
      name: 'files',
      runtime: 'process',
      command: ['sleep', '600'],
      secretMounts: [
        {
          name: 'login',
          mountPath: '/run/login',
          items: [{ key: 'password', path: 'deep/password' }],
        },
      ],
      configmapMounts: [{ name: 'look', mountPath: '/srv/look' }],
      terminationGracePeriodSeconds: 0,
    };
    await daemon.ok('POST', `${base}/services`, service);
    const untilReported = (text: string) =>
      eventually(text, async () => {
        const { body } = await daemon.rest('GET', `${base}/instances/files-0`);
        return JSON.stringify(body.conditions ?? []).includes(text);
      });
    await untilReported('secret default/login does not exist');
    await daemon.ok('POST', `${base}/secrets`, secret('one'));
    await untilReported('configmap default/look does not exist');
    await daemon.ok('POST', `${base}/configmaps`, {
      name: 'look',
      data: { 'a.css': 'red', b: '' },
    });
    await running('files-0');
    const inside = async (...command: string[]) => {
      const { code, stdout, stderr } = await daemon.cli('exec', 'files-0', '--', ...command);
      return code === 0 ? stdout : `${stdout}${stderr}`;
    };
    expect(await inside('cat', '/run/login/deep/password')).to.equal('one');
    expect(await inside('ls', '/run/login', '/srv/look')).to.equal(
      '/run/login:\ndeep\n\n/srv/look:\na.css\nb\n',
    );
    expect(await inside('cat', '/srv/look/a.css')).to.equal('red');
    expect(await inside('sh', '-c', 'echo x >/run/login/y')).to.match(/[Rr]ead-only/);
    const own = dataFilesDirectory(daemon.data);
    expect(await inside('ls', '-A', own)).to.contain('No such file');
    await daemon.ok('PUT', `${base}/secrets/login`, secret('two'));
    await daemon.ok('PUT', `${base}/configmaps/look`, { name: 'look', data: { c: 'new' } });
    await eventually('the files to follow', async () => {
      const seen = await inside('sh', '-c', 'cat /run/login/deep/password; ls /srv/look');
      return seen === 'twoc\n';
    });
    // A running workload keeps the files of a deleted object.
    await daemon.ok('DELETE', `${base}/configmaps/look`);
    await untilReported('previous files are kept');
    expect(await inside('cat', '/srv/look/c')).to.equal('new');
    await daemon.end('SIGKILL');
    await daemon.run();
    expect(await inside('cat', '/run/login/deep/password')).to.equal('two');
    await daemon.ok('PUT', `${base}/secrets/login`, secret('three'));
    await eventually('the file to follow a new daemon', async () => {
      return (await inside('cat', '/run/login/deep/password')) === 'three';
    });
    const held = await readdir(own);
    const { body } = await daemon.rest('GET', `${base}/instances/files-0`);
    const { uid } = body.metadata as { uid: string };
    expect(held).to.include(uid);
    await daemon.ok('DELETE', `${base}/services/files`);
    await eventually('the files to go', async () => {
      return !(await readdir(own)).includes(uid);
    });
  });

  it('can be read by a workload of another user than that of kedged', async function () {
    // Only root can start one.
    if (process.getuid?.() !== 0) this.skip();
    await daemon.ok('POST', `${base}/secrets`, { name: 'key', data: { 'key.pem': 'private' } });
    await daemon.ok('POST', `${base}/services`, {
      ...{ name: 'nobodys', runtime: 'process', user: '65534:65534', command: ['sleep', '600'] },
      secretMounts: [{ name: 'key', mountPath: '/run/keys' }],
      terminationGracePeriodSeconds: 0,
    });
    await running('nobodys-0');
    const read = await daemon.cli('exec', 'nobodys-0', '--', 'cat', '/run/keys/key.pem');
    expect([read.code, read.stdout], read.stderr).to.deep.equal([0, 'private']);
  });

  it('the next daemon removes the files of a killed one whose data directory was removed', async () => {
    const folders: string[] = [];
    const killed = async (): Promise<TestDaemon> => {
      const other = await TestDaemon.start();
      folders.push(dataFilesDirectory(other.data));
      await other.end('SIGKILL');
      return other;
    };
    const kept = await killed();
    const gone = await killed();
    await gone.dispose();
    expect(folders.map((folder) => existsSync(folder))).to.deep.equal([true, true]);
    await daemon.crash();
    // The folders of running daemons are kept, and so is that of a killed daemon whose data directory exists.
    expect(folders.map((folder) => existsSync(folder))).to.deep.equal([true, false]);
    expect(existsSync(dataFilesDirectory(daemon.data))).to.equal(true);
    await kept.run();
    await kept.dispose();
    expect(existsSync(folders[0] ?? '')).to.equal(false);
  });

  it('the example of the guide runs as written', async () => {
    const cast = await daemon.cli('cast', 'docs/examples/settings.yaml');
    expect(cast.code, cast.stderr).to.equal(0);
    await running('greeter-0');
    await eventually('its words', async () => {
      const { stdout } = await daemon.cli('logs', 'greeter', '--tail', '1');
      return stdout.includes('ahoy, with a password of 9 characters');
    });
  });
});
