import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';

describe('the storage root of a cluster whose store was lost', function () {
  this.timeout(180_000);
  let folder: string;
  let lost: TestDaemon;
  let daemon: TestDaemon;
  let uid: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-adopted-'));
    const environment = { KEDGE_STORAGE_LOCAL_VOLUME_ROOT: join(folder, 'volumes') };
    lost = await TestDaemon.start({ environment });
    const { metadata } = await lost.ok('POST', `${base}/volumes`, {
      name: 'data',
      storageClassName: 'local',
      size: '1Mi',
      accessMode: 'ReadWriteOnce',
    });
    ({ uid } = metadata as { readonly uid: string });
    await eventually('the volume', async () => {
      return (await lost.ok('GET', `${base}/volumes/data`)).status === 'Available';
    });
    await writeFile(join(folder, 'volumes', uid, 'kept'), 'the data');
    daemon = await TestDaemon.start({ environment });
  });
  after(async () => {
    await daemon?.dispose();
    await lost?.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const adopt = (path = join(folder, 'volumes')) => daemon.cli('admin', 'adopt-root', path);
  const orphans = async (): Promise<readonly string[]> => {
    const { stdout } = await daemon.cli('admin', 'orphans');
    return stdout.split('\n').filter((line) => line.startsWith('kedge volume import'));
  };

  it('is not adopted while its daemon runs, nor by another path', async () => {
    const running = await adopt();
    expect(running.code).to.not.equal(0);
    expect(running.stderr).to.contain('is locked');
    const other = await adopt(folder);
    expect(other.code).to.not.equal(0);
    expect(other.stderr).to.contain(`which is ${join(folder, 'volumes')}`);
    expect(await orphans()).to.deep.equal([]);
  });

  it('is adopted, and its volumes are imported with their data', async () => {
    await lost.end('SIGKILL');
    const adopted = await adopt();
    expect(adopted.code, adopted.stderr).to.equal(0);
    const [command = '', ...others] = await orphans();
    expect(others).to.deep.equal([]);
    expect(command).to.contain(`--handle ${join(folder, 'volumes', uid)} --size 1Gi`);
    const imported = await daemon.cli(...command.split(' ').slice(1));
    expect(imported.code, imported.stderr).to.equal(0);
    const [volume] = await daemon.list(`${base}/volumes`);
    expect(volume).to.include({ status: 'Available', importedAs: uid, reclaimPolicy: 'retain' });
    expect(await orphans()).to.deep.equal([]);
    expect(await readFile(join(folder, 'volumes', uid, 'kept'), 'utf8')).to.equal('the data');
    // A copy of it has the data: the driver finds the directory by the imported name.
    const source = { volume: volume?.name };
    await daemon.ok('POST', `${base}/snapshots`, { name: 'copy', source });
    await eventually('the snapshot', async () => {
      return (await daemon.ok('GET', `${base}/snapshots/copy`)).status === 'Ready';
    });
    const [copy = ''] = await readdir(join(folder, 'volumes', 'snapshots'));
    const copied = join(folder, 'volumes', 'snapshots', copy, 'kept');
    expect(await readFile(copied, 'utf8')).to.equal('the data');
  });

  it('is still that of the new installation after a restart', async () => {
    await daemon.crash();
    const [volume] = await daemon.list(`${base}/volumes`);
    expect(volume?.status).to.equal('Available');
    expect((await adopt()).code).to.equal(0);
  });
});
