import { createHash } from 'node:crypto';
import { lchown, readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeleteRequest, Observation } from '../../contract/driver.js';
import { DriverError } from '../../errors/errors.js';
import { erase, exists, findVolume, withContent } from './damage.js';
import type { Mutant } from './mutant.js';

/** The block size of a faulty copy, bytes. */
const pieceBytes = 1024 * 1024;

/** A uid that depends on the name alone. */
function uidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20, 32)].join('-');
}

/** Faults that appear elsewhere: after a failure, in another volume, in an older instance. */
export const hiddenMutants: readonly Mutant[] = [
  {
    name: 'snapshots-keyed-by-name',
    breaks: 'Snapshots of one name are one snapshot, although their uids and sources differ.',
    silent: true,
    killedBy: 'snapshots-are-separate',
    change: (driver, memory) => ({
      createSnapshot: async (request) => {
        const { name } = request.snapshot;
        const named = [...memory.snapshots.values()].find(
          ({ snapshot }) => snapshot.name === name && snapshot.uid !== request.snapshot.uid,
        );
        if (!named) return driver.createSnapshot(request);
        const made = await driver.createSnapshot(named);
        memory.notes.set(request.snapshot.uid, named.snapshot.uid);
        return { ...made, handle: `${made.handle}-${uidOf(request.snapshot.uid)}` };
      },
      restore: (request) => {
        const real = memory.snapshots.get(memory.notes.get(request.snapshot.uid) ?? '');
        const snapshot = real ? { ...real.snapshot, handle: real.made } : request.snapshot;
        return driver.restore({ ...request, snapshot });
      },
    }),
  },
  {
    name: 'restored-volumes-need-their-source',
    breaks: 'Deleting a volume empties the volumes restored from its snapshots.',
    silent: true,
    killedBy: 'restored-volumes-outlive-their-source',
    change: (driver, memory) => ({
      delete: async (request) => {
        const { uid } = request.volume;
        for (const known of [...memory.volumes.values()]) {
          const taken = memory.snapshots.get(known.restoredFrom ?? '');
          if (taken?.volume.uid === uid) await erase(driver, memory, known);
        }
        await driver.delete(request);
      },
    }),
  },
  {
    name: 'expand-takes-a-neighbour',
    breaks: 'Expand of one volume overwrites another one.',
    silent: true,
    killedBy: 'calls-spare-neighbours',
    change: (driver, memory) => ({
      expand: async (request) => {
        const neighbour = findVolume(memory, ({ uid }) => uid !== request.volume.uid);
        if (neighbour) await erase(driver, memory, neighbour);
        return driver.expand(request);
      },
    }),
  },
  {
    name: 'cancelled-restores-count-as-made',
    breaks: 'A cancelled restore leaves an empty volume, which the next restore returns.',
    silent: true,
    killedBy: 'cancelled-restores-are-whole',
    change: (driver) => ({
      restore: async (request) => {
        const { signal } = new AbortController();
        if (await exists(driver, { ...request, signal })) return driver.provision(request);
        const early = request.signal.aborted;
        if (!early) return driver.restore(request);
        await driver.provision({ ...request, signal });
        throw new DriverError('Timeout', 'cancelled');
      },
    }),
  },
  {
    name: 'cancelled-snapshots-are-of-another-time',
    breaks: 'A cancelled snapshot gets the point in time of the repeated call.',
    silent: true,
    killedBy: 'cancelled-snapshots-are-of-one-time',
    change: (driver, memory) => ({
      createSnapshot: async (request) => {
        const { uid } = request.snapshot;
        if (request.signal.aborted) {
          const made = await driver.createSnapshot({
            ...request,
            signal: new AbortController().signal,
          });
          memory.notes.set(uid, 'cancelled');
          return made;
        }
        if (memory.notes.delete(uid)) {
          await driver.deleteSnapshot({ ...request, handle: undefined });
        }
        return driver.createSnapshot(request);
      },
    }),
  },
  {
    name: 'observe-answers-from-a-cache',
    breaks: 'A driver instance still reports a volume that another one deleted.',
    silent: false,
    killedBy: 'instances-agree',
    change: (driver) => {
      const seen = new Map<string, Observation>();
      return {
        observe: async (request: DeleteRequest) => {
          const { uid } = request.volume;
          const found = seen.get(uid) ?? (await driver.observe(request));
          seen.set(uid, found);
          return found;
        },
      };
    },
  },
  {
    name: 'restore-gives-files-to-root',
    breaks: 'Restored files belong to root instead of their owners.',
    silent: true,
    killedBy: 'owners-survive',
    change: (driver, memory) => ({
      restore: async (request) => {
        const result = await driver.restore(request);
        const known = { ...request, handle: result.handle };
        await withContent(driver, memory, known, async (path) => {
          for (const name of await readdir(path, { recursive: true }))
            await lchown(join(path, name), 0, 0);
        });
        return result;
      },
    }),
  },
  {
    name: 'restore-cuts-large-files',
    breaks: 'Restore copies the first mebibyte of each file.',
    silent: true,
    killedBy: 'large-files-survive',
    change: (driver, memory) => ({
      restore: async (request) => {
        const result = await driver.restore(request);
        const known = { ...request, handle: result.handle };
        await withContent(driver, memory, known, async (path) => {
          const entries = await readdir(path, { recursive: true, withFileTypes: true });
          for (const entry of entries.filter((file) => file.isFile()))
            await truncateTo(join(entry.parentPath, entry.name));
        });
        return result;
      },
    }),
  },
  {
    name: 'teardown-validates-parameters',
    breaks: 'Delete rejects a volume whose parameters are no longer valid.',
    silent: false,
    killedBy: 'teardown-validates-nothing',
    change: (driver) => ({
      delete: async (request) => {
        const violations = driver.validateParameters(request.parameters, { level: 'resolved' });
        if (violations.length > 0) throw new DriverError('InvalidParameters', 'wrong parameters');
        await driver.delete(request);
      },
    }),
  },
];

async function truncateTo(path: string): Promise<void> {
  const { size } = await stat(path);
  if (size > pieceBytes) await truncate(path, pieceBytes);
}
