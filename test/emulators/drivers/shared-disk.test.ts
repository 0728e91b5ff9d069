import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  type AccessMode,
  type Driver,
  type HandleRequest,
  memoryOperations,
  type Operations,
  untilOver,
} from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { cleanUp, requireDevices } from '../../drivers/devices.js';
import { parametersOf, ServedCloud } from './served-cloud.js';
import { printSample, sampledFileSystems } from './file-systems.js';

const node = 'reader';
const sizeBytes = 10n * 1024n ** 3n;
const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms / 10));

for (const fsType of sampledFileSystems(0))
  describe(`a ReadOnlyMany volume of cloud4-disk on a loop device, ${fsType}`, function () {
    this.timeout(120_000);
    let folder: string;
    let cloud: ServedCloud;
    let driver: Driver;
    before(async function () {
      requireDevices(this);
      printSample('cloud4-disk', sampledFileSystems(0));
      folder = await mkdtemp(join(tmpdir(), 'kedge-shared-'));
      cloud = await ServedCloud.start('cloud4', { folder, node, token: '' });
      const found = await builtinDrivers({
        ...{ localVolumeRoot: '/nowhere', hostPathAllowlist: [], allowCreateMissing: false },
        ...{ node, clusterId: 'cluster-1', drivers: { [cloud.driverName]: cloud.settings } },
      }).get(cloud.driverName);
      if (!found) throw new Error('there is no driver');
      driver = found;
    });
    after(async () => {
      await cloud?.close();
      if (folder) await cleanUp(folder);
    });

    const over = <T>(call: () => Promise<T>): Promise<T> => untilOver<T>(call, wait);
    /** The records of one volume, one for each node. */
    const requestsOf = (uid: string, accessMode: AccessMode) => {
      const operations = new Map<string, Operations>();
      return (on: string, handle: string): HandleRequest => {
        const own = operations.get(on) ?? memoryOperations();
        operations.set(on, own);
        return {
          volume: { uid, name: uid, namespace: 'shop', accessMode },
          parameters: { fsType, ...parametersOf('cloud4', '') },
          ...{ node: on, handle, signal: new AbortController().signal, operations: own },
        };
      };
    };
    const at = async (name: string): Promise<string> => {
      const target = join(folder, name);
      await mkdir(target, { recursive: true });
      return target;
    };

    it('is attached to two instances at once, is read on one, and refuses writes', async () => {
      const writer = requestsOf('1b671a64-40d5-491e-99b0-da01ff1f3341', 'ReadWriteOnce');
      const asked = { sizeBytes, accessMode: 'ReadWriteOnce', topology: {} } as const;
      const { handle } = (await over(() =>
        driver.provision({ ...writer(node, ''), ...asked }),
      )) as { handle: string };
      const request = writer(node, handle);
      const { devicePath } = (await over(() => driver.attach(request))) as { devicePath: string };
      const target = await at('writer');
      const mount = { ...request, devicePath, target, mayFormat: true, readOnly: false };
      const { path } = await driver.mount(mount);
      await writeFile(join(path, 'data'), 'what was written');
      await driver.unmount({ ...request, target });
      await over(() => driver.detach(request));
      const snapshot = {
        uid: '2c671a64-40d5-491e-99b0-da01ff1f3342',
        name: 's',
        namespace: 'shop',
      };
      const taken = (await over(() => driver.createSnapshot({ ...request, snapshot }))) as {
        handle: string;
      };

      const readers = requestsOf('3d671a64-40d5-491e-99b0-da01ff1f3343', 'ReadOnlyMany');
      const restored = (await over(() =>
        driver.restore({
          ...{ ...readers(node, ''), ...asked, accessMode: 'ReadOnlyMany' },
          snapshot: { ...snapshot, handle: taken.handle },
        }),
      )) as { handle: string };
      for (const on of ['other', node])
        await over(() => driver.attach(readers(on, restored.handle)));
      const attached = async () =>
        (await cloud.running.inventory()).filter((line) => line.startsWith('attached '));
      expect(await attached()).to.have.length(2);
      const reader = readers(node, restored.handle);
      const seen = await driver.mount({
        ...reader,
        ...{
          devicePath: ((await over(() => driver.attach(reader))) as { devicePath: string })
            .devicePath,
        },
        ...{ target: await at('reader'), mayFormat: false, readOnly: true },
      });
      expect(await readFile(join(seen.path, 'data'), 'utf8')).to.equal('what was written');
      const refused = await writeFile(join(seen.path, 'more'), '').catch((error: unknown) => error);
      expect(refused).to.have.property('code', 'EROFS');
      // By the controllers, which may run on a node that has it mounted.
      await over(() => driver.detach(readers('other', restored.handle)));
      expect(await attached()).to.have.length(1);
      await driver.unmount({ ...reader, target: await at('reader') });
      for (const on of ['other', node])
        await over(() => driver.detach(readers(on, restored.handle)));
      await over(() => driver.delete(readers(node, restored.handle)));
      await over(() => driver.deleteSnapshot({ ...request, snapshot, handle: taken.handle }));
      await over(() => driver.delete(request));
      expect(await cloud.running.inventory()).to.deep.equal([]);
      expect(cloud.running.emulator.violations).to.deep.equal([]);
    });
  });
