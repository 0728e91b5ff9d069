import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SnapshotRequest } from '../../contract/driver.js';
import type { SynchronousDriver } from '../../provider/synchronous-driver.js';
import { DriverError } from '../../errors/errors.js';
import { erase, exists, straySnapshot, withContent } from './damage.js';
import type { Mutant } from './mutant.js';

/** Recreates the snapshot with the present point in time. No-op if its volume does not exist. */
export async function retake(driver: SynchronousDriver, request: SnapshotRequest): Promise<void> {
  if (!(await exists(driver, request))) return;
  const { signal } = new AbortController();
  const call = { ...request, signal };
  await driver.deleteSnapshot({ ...call, handle: undefined });
  await driver.createSnapshot(call);
}

/** Faults in snapshots and restored volumes. */
export const snapshotMutants: readonly Mutant[] = [
  {
    name: 'snapshots-share-blocks',
    breaks: 'A snapshot shares its blocks with the source: later writes appear in it.',
    silent: true,
    killedBy: 'snapshots-are-of-their-time',
    change: (driver, memory) => ({
      restore: async (request) => {
        const taken = memory.snapshots.get(request.snapshot.uid);
        if (taken) await retake(driver, taken);
        return driver.restore(request);
      },
    }),
  },
  {
    name: 'snapshots-are-redone',
    breaks: 'A repeated snapshot call creates the snapshot again, with a later point in time.',
    silent: true,
    killedBy: 'snapshots-are-made-once',
    change: (driver, memory) => ({
      createSnapshot: async (request) => {
        if (memory.snapshots.has(request.snapshot.uid)) await retake(driver, request);
        return driver.createSnapshot(request);
      },
    }),
  },
  {
    name: 'snapshots-wait-for-the-unmount',
    breaks: 'A snapshot of a mounted volume is taken when it is unmounted.',
    silent: true,
    killedBy: 'snapshots-of-mounted-volumes',
    change: (driver, memory) => ({
      unmount: async (request) => {
        await driver.unmount(request);
        for (const taken of [...memory.snapshots.values()])
          if (taken.volume.uid === request.volume.uid) await retake(driver, taken);
      },
    }),
  },
  {
    name: 'snapshots-go-with-their-source',
    breaks: 'Deleting a volume deletes its snapshots.',
    silent: true,
    killedBy: 'snapshots-outlive-their-source',
    change: (driver, memory) => ({
      delete: async (request) => {
        for (const taken of [...memory.snapshots.values()])
          if (taken.volume.uid === request.volume.uid)
            await driver.deleteSnapshot({ ...taken, handle: taken.made });
        await driver.delete(request);
      },
    }),
  },
  {
    name: 'restore-gives-the-latest',
    breaks: 'Restore uses the latest snapshot instead of the requested one.',
    silent: true,
    killedBy: 'restore-gives-its-snapshot',
    change: (driver, memory) => ({
      restore: (request) => {
        const latest = [...memory.snapshots.values()].at(-1);
        if (!latest) return driver.restore(request);
        return driver.restore({
          ...request,
          snapshot: { ...latest.snapshot, handle: latest.made },
        });
      },
    }),
  },
  {
    name: 'restored-volumes-share',
    breaks: 'Writes to a restored volume appear in the next volume from the same snapshot.',
    silent: true,
    killedBy: 'restored-volumes-are-separate',
    change: (driver, memory) => ({
      restore: async (request) => {
        const { uid } = request.snapshot;
        const sibling = [...memory.volumes.values()].find((known) => known.restoredFrom === uid);
        if (!sibling || sibling.volume.uid === request.volume.uid) return driver.restore(request);
        const stray = straySnapshot(memory, sibling);
        const { handle } = await driver.createSnapshot(stray);
        const result = await driver.restore({
          ...request,
          snapshot: { ...stray.snapshot, handle },
        });
        await driver.deleteSnapshot({ ...stray, handle });
        return result;
      },
    }),
  },
  {
    name: 'restored-sizes-are-halved',
    breaks:
      'Restore creates a volume with the size of the snapshot and returns the requested size.',
    silent: false,
    killedBy: 'restored-sizes-are-real',
    change: (driver) => ({
      restore: async (request) => {
        const { sizeBytes } = request;
        const result = await driver.restore({ ...request, sizeBytes: sizeBytes / 2n });
        return { ...result, sizeBytes };
      },
    }),
  },
  {
    name: 'restore-invents',
    breaks: 'Restore of a deleted snapshot creates an empty volume.',
    silent: true,
    killedBy: 'absent-snapshots-are-not-restored',
    change: (driver) => ({
      restore: async (request) => {
        try {
          return await driver.restore(request);
        } catch (error) {
          if (error instanceof DriverError && error.kind === 'NotFound')
            return driver.provision(request);
          throw error;
        }
      },
    }),
  },
  {
    name: 'restore-copies-the-top-only',
    breaks: 'Restore omits the content of nested directories.',
    silent: true,
    killedBy: 'snapshots-are-of-their-time',
    change: (driver, memory) => ({
      restore: async (request) => {
        const before = await exists(driver, request);
        const result = await driver.restore(request);
        if (!before)
          await withContent(driver, memory, { ...request, handle: result.handle }, (path) =>
            rm(join(path, 'kedge-conformance', 'deep'), { recursive: true, force: true }),
          );
        return result;
      },
    }),
  },
  {
    name: 'delete-snapshot-takes-siblings',
    breaks: 'Deleting a snapshot deletes all snapshots of its source.',
    silent: true,
    killedBy: 'deleting-snapshots-spares-others',
    change: (driver, memory) => ({
      deleteSnapshot: async (request) => {
        const source = memory.snapshots.get(request.snapshot.uid)?.volume.uid;
        for (const taken of [...memory.snapshots.values()])
          if (taken.volume.uid === source)
            await driver.deleteSnapshot({ ...taken, handle: taken.made });
        await driver.deleteSnapshot(request);
      },
    }),
  },
  {
    name: 'delete-snapshot-empties-the-restored',
    breaks: 'Deleting a snapshot removes the blocks of volumes restored from it.',
    silent: true,
    killedBy: 'deleting-snapshots-spares-others',
    change: (driver, memory) => ({
      deleteSnapshot: async (request) => {
        for (const known of memory.volumes.values())
          if (known.restoredFrom === request.snapshot.uid) await erase(driver, memory, known);
        await driver.deleteSnapshot(request);
      },
    }),
  },
  {
    name: 'delete-snapshot-does-nothing',
    breaks: 'DeleteSnapshot returns success but keeps the snapshot.',
    silent: false,
    killedBy: 'deleted-snapshots-are-gone',
    change: () => ({ deleteSnapshot: () => Promise.resolve() }),
  },
];
