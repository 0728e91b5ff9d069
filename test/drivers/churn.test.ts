import { execFileSync, spawn } from 'node:child_process';
import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { LevelEngine, openStore, seededRandom } from 'kedge';
import { eventually } from 'kedge/testing';
import { readMountTable } from '@kedge/driver-sdk';
import { snapshots, volumes } from '@kedge/controllers';
import { builtinDrivers } from '@kedge/drivers';
import { cleanUp, requireDevices } from './devices.js';
import { TestNode } from './node.js';

const churn = fileURLToPath(new URL('storage-churn.js', import.meta.url));
const rounds = Number(process.env['KEDGE_CHURN_ROUNDS'] ?? 5);
const namespace = 'default';

describe('driver local under random use and kill -9, on real devices', function () {
  this.timeout(600_000);
  let folder: string;

  before(async function () {
    requireDevices(this);
    folder = await mkdtemp(join(tmpdir(), 'kedge-churn-'));
  });
  after(() => (folder ? cleanUp(folder) : undefined));

  it(`after ${rounds} kills no written data is lost, and no resource is without an owner`, async () => {
    const random = seededRandom(1);
    const wrong: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const child = spawn(process.execPath, [churn, folder, String(round)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await new Promise<void>((resolve, reject) => {
        child.stdout.on('data', (data) => {
          for (const line of String(data).split('\n')) {
            if (line === 'ready') resolve();
            else if (line !== '') wrong.push(line);
          }
        });
        child.once('exit', () => reject(new Error('it ended by itself')));
      });
      await new Promise((resolve) => setTimeout(resolve, 200 + random.next() * 1_200));
      child.removeAllListeners('exit');
      child.kill('SIGKILL');
      await new Promise((resolve) => child.once('exit', resolve));
    }
    expect(wrong).to.deep.equal([]);
    const store = await openStore({ engine: new LevelEngine({ directory: folder }) });
    const settings = {
      localVolumeRoot: join(folder, 'volumes'),
      hostPathAllowlist: [],
      allowCreateMissing: false,
    };
    const driver = (await builtinDrivers(settings).get('local'))!;
    const node = await new TestNode({ store, driver, directory: folder }).start();
    const all = (await store.list(volumes)).items;
    expect(all.length, 'it must have done something').to.be.greaterThan(0);
    for (const instance of ['i0', 'i1', 'i2']) await node.release(instance);
    for (const { name } of (await store.list(snapshots)).items)
      await store.deleteByName(snapshots, { namespace, name }).catch(() => undefined);
    await eventually(
      'everything to be deleted',
      async () => {
        const left = (await store.list(volumes)).items;
        for (const { name, metadata } of left)
          if (!metadata.deletionRequestedAt)
            await store.deleteByName(volumes, { namespace, name }).catch(() => undefined);
        return left.length === 0 && (await store.list(snapshots)).items.length === 0;
      },
      120_000,
    );
    await node.stop();
    await store.close();
    const files = await readdir(settings.localVolumeRoot, { recursive: true });
    expect(files, 'directories, images and snapshots').to.deep.equal(['snapshots']);
    const mounts = (await readMountTable()).filter((entry) => entry.target.startsWith(folder));
    expect(mounts, 'mounts').to.deep.equal([]);
    const loops = execFileSync('losetup', ['-n', '-O', 'NAME,BACK-FILE'], { encoding: 'utf8' });
    expect(loops.includes(folder), 'loop devices').to.equal(false);
  });
});
