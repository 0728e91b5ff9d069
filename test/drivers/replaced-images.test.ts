import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFile, mkdtemp, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { retriedInUse } from '@kedge/driver-sdk/conformance';
import { eventually } from 'kedge/testing';
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
import { cleanUp, requireDevices } from './devices.js';

const mebibyte = 1024n * 1024n;
const { signal } = new AbortController();

describe('a mounted image that a user changes', function () {
  this.timeout(180_000);
  let folder: string;
  let root: string;
  let driver: SynchronousDriver;

  before(function () {
    requireDevices(this);
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
    const mount = { ...context, devicePath, readOnly: false, mayFormat: false };
    const { path } = await retriedInUse(() => driver.mount(mount));
    await writeFile(join(path, 'mine'), 'kept');
    execFileSync('sync', ['-f', path]);
    return { context, devicePath, path };
  }
  type Context = Awaited<ReturnType<typeof mounted>>['context'];

  /** A process that has just started may have its own copy of every mount for a moment. */
  const free = (call: (context: Context) => Promise<unknown>, context: Context) =>
    eventually('the device is free', () => call(context).then(() => true));
  const unmounted = (context: Context) => free(driver.unmount, context);
  const detached = (context: Context) => free(driver.detach, context);

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
    it(`and replaces ${how}: neither file is copied, resized, detached or deleted, and the message names the remedy`, async () => {
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
          .to.contain(`${handle} was replaced: ${devicePath} uses the previous file`)
          .and.contain(remedy(handle, devicePath))
          .and.contain(`losetup --detach ${devicePath}`);
        await untouched();
      }
      await unmounted(context);
      const journal = directoryJournal(join(folder, 'journal'));
      const { failed } = await recoverNode(
        journal,
        nodeUndo(thisNode, journal, signal),
        () => false,
      );
      expect(
        failed.map(({ error }) => error.kind),
        'at the next start',
      ).to.deep.equal(['InUse']);
      execFileSync('losetup', ['--detach', devicePath]);
      await detached(context);
      expect((await readFile(handle)).equals(text), 'the one that was chosen').to.equal(true);
      await driver.delete(context);
      expect(await loopsOf(thisNode, handle, signal)).to.deep.equal([]);
    });

  it('and moves away: it continues once it is moved back', async () => {
    const { context } = await mounted();
    const { handle } = context;
    await rename(handle, `${handle}.old`);
    await unmounted(context);
    for (const work of [driver.detach, driver.delete])
      expect((await refusal(work(context))).message)
        .to.contain(`${handle} was moved`)
        .and.contain(`mv ${handle}.old ${handle}`);
    await rename(`${handle}.old`, handle);
    await detached(context);
    await copy(context);
    await driver.delete(context);
  });

  const swap = async (one: string, other: string): Promise<void> => {
    await rename(one, `${one}.aside`);
    await rename(other, one);
    await rename(`${one}.aside`, other);
  };

  it('and swaps with that of another volume: neither is copied, resized, attached, detached or deleted until they are restored', async () => {
    const both = [await mounted(), await mounted()] as const;
    const [one, other] = both.map(({ context }) => context.handle) as [string, string];
    await swap(one, other);
    for (const { context, devicePath, path } of both) {
      const { handle } = context;
      const there = handle === one ? other : one;
      for (const work of [copy, grow, driver.attach, driver.detach, driver.delete]) {
        const { kind, message } = await refusal(work(context));
        expect(kind).to.equal('InUse');
        expect(message)
          .to.contain(`${handle} was replaced: ${devicePath} uses the previous file`)
          .and.contain(
            `mv ${handle} ${handle}.aside; mv ${there} ${handle}; mv ${handle}.aside ${there}`,
          );
      }
      expect(await readFile(join(path, 'mine'), 'utf8')).to.equal('kept');
      await unmounted(context);
    }
    const journal = directoryJournal(join(folder, 'journal'));
    const undo = nodeUndo(thisNode, journal, signal);
    const { failed } = await recoverNode(journal, undo, () => false);
    expect(
      failed.map(({ error }) => error.kind),
      'at the next start',
    ).to.deep.equal(['InUse', 'InUse']);
    await swap(one, other);
    for (const { context } of both) {
      await detached(context);
      await driver.delete(context);
      expect(await loopsOf(thisNode, context.handle, signal)).to.deep.equal([]);
    }
  });

  it('and moves to the path of another volume: that one is not attached to its device, and not deleted', async () => {
    const { context, devicePath, path } = await mounted();
    const other = await mounted();
    await unmounted(other.context);
    await detached(other.context);
    const lost = other.context.handle;
    await rename(lost, `${lost}.aside`);
    await rename(context.handle, lost);
    for (const work of [copy, grow, driver.attach, driver.delete]) {
      const { kind, message } = await refusal(work(other.context));
      expect(kind).to.equal('InUse');
      expect(message)
        .to.contain(`${lost} was at ${context.handle}`)
        .and.contain(devicePath)
        .and.contain(`mv ${lost} ${context.handle}`);
    }
    await unmounted(other.context);
    await detached(other.context);
    expect(await readFile(join(path, 'mine'), 'utf8')).to.equal('kept');
    await rename(lost, context.handle);
    await rename(`${lost}.aside`, lost);
    await driver.attach(other.context);
    for (const { context: each } of [{ context }, other]) {
      await unmounted(each);
      await detached(each);
    }
  });

  it('and whose inode the image of another volume reuses: neither affects the other', async () => {
    const { context } = await mounted();
    await unmounted(context);
    const record = join(folder, 'journal');
    const [name = ''] = (await readdir(record)).filter((file) => file.startsWith('loop-'));
    const text = await readFile(join(record, name), 'utf8');
    await detached(context);
    // As after a restart of the machine, and a new file with the inode of the one that was removed.
    const other = await mounted();
    await rename(context.handle, `${context.handle}.aside`);
    const identity = await thisNode.files.identity(other.context.handle);
    await writeFile(join(record, name), JSON.stringify({ ...JSON.parse(text), identity }));
    await detached(context);
    expect(await readFile(join(other.path, 'mine'), 'utf8')).to.equal('kept');
    await driver.attach(other.context);
    await unmounted(other.context);
    await detached(other.context);
  });

  it('and truncates: it does not grow, which would fill its lost part with zeros; it is detached and deleted', async () => {
    const { context } = await mounted();
    execFileSync('truncate', ['-s', '9M', context.handle]);
    const { kind, message } = await refusal(grow(context));
    expect(kind).to.equal('NotFound');
    expect(message).to.contain(`${context.handle} was truncated`).and.contain('restore an earlier');
    await refusal(copy(context));
    await unmounted(context);
    await detached(context);
    await driver.delete(context);
  });
});
