import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFile, mkdtemp, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  directoryJournal,
  DriverError,
  loopsOf,
  memoryOperations,
  nodeUndo,
  recoverNode,
  type SynchronousDriver,
  synchronousDriver,
  thisNode,
} from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { cleanUp, demandDevices } from './devices.js';

const mebibyte = 1024n * 1024n;
const { signal } = new AbortController();

describe('an image that somebody changes while it is mounted', function () {
  this.timeout(60_000);
  let folder: string;
  let root: string;
  let driver: SynchronousDriver;

  before(function () {
    demandDevices(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-replaced-'));
    root = join(folder, 'root');
    const journal = directoryJournal(join(folder, 'journal'));
    const settings = { hostPathAllowlist: [], allowCreateMissing: false, journal };
    const local = await builtinDrivers({ ...settings, localVolumeRoot: root }).get('local');
    driver = synchronousDriver(local!, () => Promise.resolve());
  });
  afterEach(() => cleanUp(folder));

  async function mounted() {
    const volume = { uid: randomUUID(), name: 'v', namespace: 'default' };
    const parameters = { backing: 'image' };
    const call = { volume, parameters, node: 'n', signal, operations: memoryOperations() };
    const wanted = { sizeBytes: 16n * mebibyte, accessMode: 'ReadWriteOnce', topology: {} };
    const { handle } = await driver.provision({ ...call, ...wanted } as never);
    const { devicePath } = await driver.attach({ ...call, handle });
    const target = join(folder, 'mounts', volume.uid);
    const context = { ...call, handle, target };
    const { path } = await driver.mount({
      ...context,
      devicePath,
      readOnly: false,
      mayFormat: false,
    });
    await writeFile(join(path, 'mine'), 'kept');
    execFileSync('sync', ['-f', path]);
    return { context, devicePath, path };
  }
  type Context = Awaited<ReturnType<typeof mounted>>['context'];

  const copy = (context: Context) =>
    driver.createSnapshot({
      ...context,
      snapshot: { uid: randomUUID(), name: 's', namespace: 'default' },
    });
  const grow = (context: Context) => driver.expand({ ...context, sizeBytes: 32n * mebibyte });
  const refusal = async (work: Promise<unknown>): Promise<DriverError> => {
    const error: unknown = await work.then(
      () => 'it succeeded',
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(DriverError);
    return error as DriverError;
  };

  for (const [how, put, remedy] of [
    [
      'by a file that takes its name',
      (other: string, image: string) => rename(other, image),
      (image: string, device: string) => `cp --sparse=always ${device} FILE`,
    ],
    [
      'after it was moved away',
      async (other: string, image: string) => {
        await rename(image, `${image}.old`);
        await rename(other, image);
      },
      (image: string) => `mv ${image}.old ${image}`,
    ],
  ] as const)
    it(`and replaces ${how}: neither file is copied, resized, detached or deleted, and the message says what to do`, async () => {
      const { context, devicePath, path } = await mounted();
      const { handle } = context;
      const other = join(folder, 'other');
      await copyFile(handle, other);
      await put(other, handle);
      const text = await readFile(handle);
      const untouched = async (): Promise<void> => {
        expect(await readFile(join(path, 'mine'), 'utf8')).to.equal('kept');
        expect((await readFile(handle)).equals(text)).to.equal(true);
        expect(await readdir(join(root, 'snapshots')).catch(() => [])).to.deep.equal([]);
      };
      for (const work of [copy, grow, driver.attach, driver.detach, driver.delete]) {
        const { kind, message } = await refusal(work(context));
        expect(kind).to.equal('InUse');
        expect(message)
          .to.contain(`${handle} was replaced: ${devicePath} has the file that was there before`)
          .and.contain(remedy(handle, devicePath))
          .and.contain(`losetup --detach ${devicePath}`);
        await untouched();
      }
      await driver.unmount(context);
      const journal = directoryJournal(join(folder, 'journal'));
      const { failed } = await recoverNode(journal, nodeUndo(thisNode, signal), () => false);
      expect(
        failed.map(({ error }) => error.kind),
        'at the next start',
      ).to.deep.equal(['InUse']);
      execFileSync('losetup', ['--detach', devicePath]);
      await driver.detach(context);
      expect((await readFile(handle)).equals(text), 'the one that was chosen').to.equal(true);
      await driver.delete(context);
      expect(await loopsOf(thisNode, handle, signal)).to.deep.equal([]);
    });

  it('and moves away: it goes on where it is put back', async () => {
    const { context } = await mounted();
    const { handle } = context;
    await rename(handle, `${handle}.old`);
    await driver.unmount(context);
    for (const work of [driver.detach, driver.delete])
      expect((await refusal(work(context))).message)
        .to.contain(`${handle} was moved`)
        .and.contain(`mv ${handle}.old ${handle}`);
    await rename(`${handle}.old`, handle);
    await driver.detach(context);
    await copy(context);
    await driver.delete(context);
  });

  it('and cuts: it does not grow, which would fill its lost part with zeros; it is detached and deleted', async () => {
    const { context } = await mounted();
    execFileSync('truncate', ['-s', '9M', context.handle]);
    const { kind, message } = await refusal(grow(context));
    expect(kind).to.equal('NotFound');
    expect(message).to.contain(`${context.handle} was cut`).and.contain('restore an earlier');
    await refusal(copy(context));
    await driver.unmount(context);
    await driver.detach(context);
    await driver.delete(context);
  });
});
