import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { cleanUp, requireDevices } from '../../drivers/devices.js';
import { type Answer, finish, type Finished, root, TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';
const pieces = ['1', '2', '3', '4'];

/** A separate file system at `data` without blocks reserved for root. */
async function mountDisk(data: string, mebibytes: number): Promise<void> {
  const image = join(dirname(data), 'disk.img');
  await mkdir(data, { recursive: true });
  await writeFile(image, '');
  execFileSync('truncate', ['-s', `${mebibytes}M`, image]);
  execFileSync('mkfs.ext4', ['-q', '-m', '0', image]);
  execFileSync('mount', ['-o', 'loop', image, data]);
}

/** Fills the disk, like a workload without a limit. */
function fill(data: string, name: string): void {
  for (const part of ['a', 'b'])
    spawnSync('sh', ['-c', `cat /dev/zero > ${join(data, `filler-${name}${part}`)}; sync`]);
}

async function empty(data: string): Promise<void> {
  for (const name of await readdir(data))
    if (name.startsWith('filler-')) await rm(join(data, name));
}

async function freeBytes(data: string): Promise<number> {
  const { bavail, bsize } = await statfs(data);
  return bavail * bsize;
}

describe('a data directory on a full disk', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let data: string;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    daemon = await TestDaemon.start({ prepare: (path) => mountDisk(path, 200) });
    ({ data } = daemon);
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'scratch',
      driver: 'local',
      reclaimPolicy: 'delete',
    });
    await reserveIs(pieces);
  });
  afterEach(async () => {
    await daemon.end('SIGTERM');
    await cleanUp(daemon.home);
  });

  const create = (name: string, more: object = {}): Promise<Answer> =>
    daemon.rest('POST', `${base}/volumes`, {
      name,
      size: '1Mi',
      accessMode: 'ReadWriteOnce',
      storageClassName: 'scratch',
      ...more,
    });
  const reaches = (path: string, status: string): Promise<unknown> =>
    eventually(`${path} to be ${status}`, async () => {
      const { body } = await daemon.rest('GET', `${base}/${path}`);
      return body['status'] === status ? true : undefined;
    });
  const goes = (path: string): Promise<unknown> =>
    eventually(`${path} to go`, async () => {
      const answer = await daemon.rest('GET', `${base}/${path}`);
      return answer.status === 404 ? true : undefined;
    });
  const healthIs = (code: number): Promise<string> =>
    eventually(
      `readyz ${code}`,
      async () => {
        const response = await fetch(`http://${daemon.opsAddress}/readyz`);
        const text = await response.text();
        return response.status === code ? text : undefined;
      },
      90_000,
    );
  const reserveIs = (names: readonly string[]): Promise<unknown> =>
    eventually(
      `a reserve of ${names.length} pieces`,
      async () => {
        const found = await readdir(join(data, 'reserve')).catch(() => []);
        return found.sort().join() === names.join() ? true : undefined;
      },
      90_000,
    );

  it('completes deletions, starts after kill -9, and accepts all writes once space is free', async () => {
    for (const name of ['one', 'two', 'three']) {
      await create(name);
      await reaches(`volumes/${name}`, 'Available');
    }
    await daemon.ok('POST', `${base}/snapshots`, { name: 'copy', source: { volume: 'three' } });
    await reaches('snapshots/copy', 'Ready');
    fill(data, 'first');
    // The free bytes are not checked: a write that the daemon accepted before it measured the full disk, such as a
    // heartbeat, may have released a part of the reserve.
    expect(await healthIs(503)).to.contain(data);

    const refused = await create('more');
    expect(refused.status).to.equal(429);
    expect(refused.body['reason']).to.equal('DiskFull');
    expect(refused.body['message']).to.match(
      /\d+ bytes free and \d+ in its reserve.*free disk space/,
    );
    expect(refused.body['message']).to.contain(data);
    const status = await daemon.cli('status');
    expect(status.stdout).to.contain('Writes are refused').and.not.contain('Everything');
    expect(status.stdout).to.contain('is nearly full: free space on it');
    const json = JSON.parse((await daemon.cli('status', '-o', 'json')).stdout) as object;
    expect(json).to.include({ store: 'FULL' });
    await daemon.ok('DELETE', `${base}/volumes/one`);
    await goes('volumes/one');
    await daemon.ok('DELETE', `${base}/snapshots/copy`);
    await goes('snapshots/copy');

    // Other programs take the freed space, and the daemon is killed.
    await daemon.end('SIGKILL');
    fill(data, 'second');
    expect(await freeBytes(data)).to.be.lessThan(1024 * 1024);
    await daemon.run();
    await healthIs(503);
    await daemon.ok('DELETE', `${base}/volumes/two`);
    await goes('volumes/two');

    await empty(data);
    await healthIs(200);
    await reserveIs(pieces);
    expect((await create('more')).status).to.equal(200);
    await reaches('volumes/more', 'Available');
  });

  it('says that states may be out of date, and records the end of a workload once space is free', async () => {
    await daemon.ok('POST', `${base}/services`, {
      ...{ name: 'short', runtime: 'process', command: ['sleep', '3600'] },
      restartPolicy: 'Never',
    });
    await reaches('instances/short-0', 'Running');
    const { body } = await daemon.rest('GET', `${base}/instances/short-0`);
    await eventually('no problem', async () => {
      const { stdout } = await daemon.cli('why', 'instance/short-0');
      expect(stdout).to.contain('It has no problem.').and.not.contain('out of date');
      return true;
    });
    fill(data, 'first');
    await healthIs(503);
    process.kill(Number(body['pid']), 'SIGKILL');
    const stale =
      /States may be out of date.*writes are refused: the disk of the store is nearly full/;
    for (const name of ['instance/short-0', 'service/short']) {
      const why = await daemon.cli('why', name);
      expect(why.stdout).to.match(stale).and.not.contain('It has no problem');
    }
    const answer = JSON.parse(
      (await daemon.cli('why', 'instance/short-0', '-o', 'json')).stdout,
    ) as object;
    expect(answer).to.have.property('stale').that.matches(stale);
    for (const words of [['get', 'instances'], ['describe', 'instance/short-0'], ['health']])
      expect((await daemon.cli(...words)).stderr, words.join(' ')).to.match(stale);
    await empty(data);
    await healthIs(200);
    await reaches('instances/short-0', 'Failed');
    expect((await daemon.cli('get', 'instances')).stderr).to.equal('');
  });

  it('deletes a service with its instance and the volume that is bound to it', async () => {
    const hostPath = join(daemon.home, 'host', 'a');
    await mkdir(hostPath, { recursive: true });
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'host',
      driver: 'local-host',
      reclaimPolicy: 'retain',
    });
    expect(
      (await create('a', { storageClassName: 'host', parameters: { hostPath } })).status,
    ).to.equal(200);
    await daemon.ok('POST', `${base}/services`, {
      name: 'writer',
      runtime: 'process',
      command: ['/bin/sh', '-c', 'sleep 1000'],
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'data', mountPath: '/data', claim: { name: 'a' } }],
    });
    await reaches('instances/writer-0', 'Running');
    fill(data, 'first');
    await healthIs(503);
    await daemon.ok('DELETE', `${base}/services/writer`);
    await goes('services/writer');
    await reaches('volumes/a', 'Available');
    await daemon.ok('DELETE', `${base}/volumes/a`);
    await goes('volumes/a');
  });

  it('recreates its reserve after it was removed', async () => {
    await rm(join(data, 'reserve'), { recursive: true });
    await create('one');
    await reserveIs(pieces);
    await daemon.end('SIGTERM');
    await rm(join(data, 'reserve'), { recursive: true });
    await daemon.run();
    await reserveIs(pieces);
  });

  it('keeps its reserve while a second daemon is refused', async () => {
    fill(data, 'first');
    await healthIs(503);
    const second = await finish(
      process.execPath,
      daemon.arguments({ grpc: '0', rest: '0' }),
      daemon.environment,
    );
    expect(second.code).to.equal(1);
    expect(second.stderr).to.match(/is in use by process \d+/);
    expect((await readdir(join(data, 'reserve'))).sort()).to.deep.equal(pieces);
  });
});

describe('a first start on a disk without space', function () {
  this.timeout(180_000);

  before(function () {
    requireDevices(this);
  });

  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'kedge-first-'));
  });
  afterEach(() => cleanUp(home));

  const start = (data: string): Promise<Finished> =>
    finish(
      process.execPath,
      [
        join(root, 'cmd/bin/kedged.mjs'),
        ...['--data-directory', data, '--grpc-address', '127.0.0.1:0'],
        ...['--rest-address', '127.0.0.1:0', '--ops-address', '127.0.0.1:0'],
      ],
      { XDG_CONFIG_HOME: join(home, 'config') },
    );
  const expectToldRoom = ({ code, stderr }: Finished, data: string): void => {
    expect(code).to.equal(1);
    expect(stderr).to.contain(data);
    expect(stderr).to.match(/has \d+ bytes free|\d+ bytes are free|No space left|ENOSPC/);
    expect(stderr).to.match(/free (disk )?space|remove or move/);
    expect(stderr).to.not.match(/damaged|backup/);
  };

  it('without a free byte names the directory and the remedy', async () => {
    const data = join(home, 'data');
    await mkdir(data);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', data]);
    fill(data, 'first');
    expectToldRoom(await start(data), data);
    await empty(data);
    // Enough for the key, but not for the database.
    spawnSync('sh', ['-c', `head -c 56k /dev/zero > ${join(data, 'filler-first')}`]);
    expectToldRoom(await start(data), data);
  });

  it('that is too small names the directory and the remedy', async () => {
    const data = join(home, 'data');
    await mountDisk(data, 30);
    expectToldRoom(await start(data), data);
  });
});
