import { DriverError } from '../../errors/errors.js';
import { requireCommand, runCommand } from '../../node/run-command.js';
import { aliasing, findVolume, mountOf } from './damage.js';
import type { KnownVolume, Mutant, MutantMemory } from './mutant.js';

/**
 * The other volume whose storage a volume uses, chosen once when the volume is created; undefined for its own storage.
 */
function chosen(
  memory: MutantMemory,
  uid: string,
  choose: () => KnownVolume | undefined,
): KnownVolume | undefined {
  if (memory.volumes.has(uid)) return undefined;
  const known = memory.notes.get(uid) ?? choose()?.volume.uid;
  if (known === undefined || known === uid) return undefined;
  memory.notes.set(uid, known);
  return memory.volumes.get(known) ?? memory.deleted.get(known);
}

const gone = (uid: string): never => {
  throw new DriverError('NotFound', `volume ${uid} does not exist`);
};

/** Faults in creating, observing and deleting volumes. */
export const lifecycleMutants: readonly Mutant[] = [
  {
    name: 'volumes-share-storage',
    breaks:
      'Each volume that is provisioned while another one exists shares its storage, under another handle.',
    silent: true,
    killedBy: 'volumes-are-separate',
    change: (driver, memory) =>
      aliasing(driver, ({ uid }) => chosen(memory, uid, () => findVolume(memory, () => true))),
  },
  {
    name: 'volumes-keyed-by-name',
    breaks: 'Volumes of one name share one storage, although their namespaces and uids differ.',
    silent: true,
    killedBy: 'volumes-are-separate',
    change: (driver, memory) =>
      aliasing(driver, ({ uid, name }) =>
        chosen(memory, uid, () => findVolume(memory, (other) => other.name === name)),
      ),
  },
  {
    name: 'uids-cut-at-the-end',
    breaks: 'Names at the provider lack the last digit of the uid.',
    silent: true,
    killedBy: 'volumes-are-separate',
    change: (driver, memory) =>
      aliasing(driver, ({ uid }) =>
        chosen(memory, uid, () =>
          findVolume(memory, (other) => other.uid.slice(0, -1) === uid.slice(0, -1)),
        ),
      ),
  },
  {
    name: 'uids-cut-at-the-start',
    breaks: 'Names at the provider lack the first digit of the uid.',
    silent: true,
    killedBy: 'volumes-are-separate',
    change: (driver, memory) =>
      aliasing(driver, ({ uid }) =>
        chosen(memory, uid, () =>
          findVolume(memory, (other) => other.uid.slice(1) === uid.slice(1)),
        ),
      ),
  },
  {
    name: 'deleted-storage-is-recycled',
    breaks: 'A new volume gets the storage of a deleted one, with its content.',
    silent: true,
    killedBy: 'new-volumes-are-empty',
    change: (driver, memory) => {
      const pooled = [...memory.volumes.values()].filter(({ volume }) =>
        memory.notes.has(`deleted ${volume.uid}`),
      );
      const isDeleted = (uid: string): boolean => memory.notes.has(`deleted ${uid}`);
      const alias = aliasing(driver, ({ uid }) => chosen(memory, uid, () => pooled[0]));
      return {
        ...alias,
        delete: (request) => {
          memory.notes.set(`deleted ${request.volume.uid}`, '');
          return Promise.resolve();
        },
        observe: async (request) =>
          isDeleted(request.volume.uid)
            ? gone(request.volume.uid)
            : (alias.observe ?? driver.observe)(request),
        attach: async (request) =>
          isDeleted(request.volume.uid)
            ? gone(request.volume.uid)
            : (alias.attach ?? driver.attach)(request),
      };
    },
  },
  {
    name: 'delete-does-nothing',
    breaks: 'Delete returns success but keeps the volume.',
    silent: false,
    killedBy: 'delete-is-final',
    change: () => ({ delete: () => Promise.resolve() }),
  },
  {
    name: 'delete-hides',
    breaks: 'Delete only hides the volume; a new one under its identity has the old content.',
    silent: true,
    killedBy: 'delete-forgets-content',
    change: (driver, memory) => ({
      provision: (request) => {
        memory.notes.delete(request.volume.uid);
        return driver.provision(request);
      },
      delete: ({ volume }) => {
        memory.notes.set(volume.uid, 'hidden');
        return Promise.resolve();
      },
      observe: async (request) =>
        memory.notes.has(request.volume.uid) ? gone(request.volume.uid) : driver.observe(request),
      attach: async (request) =>
        memory.notes.has(request.volume.uid) ? gone(request.volume.uid) : driver.attach(request),
    }),
  },
  {
    name: 'delete-takes-another',
    breaks: 'Deleting a volume also deletes the oldest one that is not attached.',
    silent: true,
    killedBy: 'delete-spares-others',
    change: (driver, memory) => ({
      delete: async (request) => {
        const other = findVolume(
          memory,
          ({ uid }) => uid !== request.volume.uid && !memory.attached.has(uid),
        );
        if (other) await driver.delete(other);
        await driver.delete(request);
      },
    }),
  },
  {
    name: 'delete-by-name',
    breaks: 'Deleting an already deleted volume deletes another volume with the same name.',
    silent: true,
    killedBy: 'deleted-identities-stay-deleted',
    change: (driver, memory) => ({
      delete: async (request) => {
        const { uid, name } = request.volume;
        const namesake = findVolume(memory, (other) => other.name === name);
        if (namesake && memory.deleted.has(uid)) await driver.delete(namesake);
        await driver.delete(request);
      },
    }),
  },
  {
    name: 'stale-identity-opens-its-namesake',
    breaks: 'Attaching a deleted volume attaches another volume with the same name.',
    silent: true,
    killedBy: 'deleted-identities-stay-deleted',
    change: (driver, memory) =>
      aliasing(driver, ({ uid, name }) =>
        memory.deleted.has(uid) ? findVolume(memory, (other) => other.name === name) : undefined,
      ),
  },
  {
    name: 'delete-while-mounted',
    breaks: 'Delete removes a volume that is mounted.',
    silent: true,
    killedBy: 'delete-refuses-mounted',
    change: (driver, memory) => ({
      delete: async (request) => {
        const mounted = mountOf(memory, request.volume);
        if (mounted) {
          await requireCommand(runCommand, 'umount', ['-l', mounted.target], request.signal);
          await driver.detach(mounted);
        }
        await driver.delete(request);
      },
    }),
  },
  {
    name: 'delete-detaches',
    breaks: 'Delete detaches a volume that is attached to a node, and deletes it.',
    silent: true,
    killedBy: 'delete-refuses-attached',
    change: (driver, memory) => ({
      delete: async (request) => {
        const held = memory.attached.get(request.volume.uid);
        if (held) await driver.detach(held);
        await driver.delete(request);
      },
    }),
  },
  {
    name: 'refused-delete-detaches',
    breaks: 'Delete of an attached volume is rejected, but detaches it.',
    silent: false,
    killedBy: 'refused-deletes-detach-nothing',
    change: (driver, memory) => ({
      delete: async (request) => {
        const held = memory.attached.get(request.volume.uid);
        if (!held) return driver.delete(request);
        await driver.detach(held);
        throw new DriverError('InUse', 'it is attached');
      },
    }),
  },
  {
    name: 'delete-needs-its-handle',
    breaks: 'Delete without a handle returns success but deletes nothing.',
    silent: false,
    killedBy: 'delete-needs-no-handle',
    change: (driver) => ({
      delete: (request) =>
        request.handle === undefined ? Promise.resolve() : driver.delete(request),
    }),
  },
  {
    name: 'observe-invents',
    breaks: 'Observe reports a deleted volume as existing.',
    silent: false,
    killedBy: 'delete-is-final',
    change: (driver, memory) => ({
      observe: (request) => {
        const known = memory.deleted.get(request.volume.uid);
        if (!known) return driver.observe(request);
        return Promise.resolve({ handle: known.handle, sizeBytes: known.sizeBytes });
      },
    }),
  },
  {
    name: 'attach-invents',
    breaks: 'Attaching a volume whose storage is lost creates an empty replacement.',
    silent: true,
    killedBy: 'absent-volumes-are-not-found',
    change: (driver, memory) => ({
      attach: async (request) => {
        const { volume, signal } = request;
        const known = memory.deleted.get(volume.uid);
        if (!known) return driver.attach(request);
        memory.strays.set(volume.uid, known);
        // A provider gives the replacement a handle of its own.
        const { handle } = await driver.provision({ ...known, signal });
        return driver.attach({ ...request, handle });
      },
    }),
  },
  {
    name: 'sizes-are-halved',
    breaks: 'Provision creates half of the size and returns the requested size.',
    silent: false,
    killedBy: 'sizes-are-real',
    change: (driver) => ({
      provision: async (request) => {
        const half = { ...request, sizeBytes: request.sizeBytes / 2n };
        return { ...(await driver.provision(half)), sizeBytes: request.sizeBytes };
      },
      observe: async (request) => ({ ...(await driver.observe(request)), sizeBytes: undefined }),
    }),
  },
  {
    name: 'sizes-are-rounded-down',
    breaks: 'Provision creates and returns half of the size.',
    silent: false,
    killedBy: 'observe-what-was-made',
    change: (driver) => ({
      provision: (request) => driver.provision({ ...request, sizeBytes: request.sizeBytes / 2n }),
    }),
  },
];
