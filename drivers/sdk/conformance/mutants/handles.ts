import type { HandleRequest, SnapshotHandleRequest } from '../../contract/driver.js';
import { DriverError } from '../../errors/errors.js';
import { retake } from './snapshots.js';
import type { Mutant, MutantMemory } from './mutant.js';

/** The request with the volume that has its handle. */
function byHandle<R extends HandleRequest>(memory: MutantMemory, request: R): R {
  const owner = [...memory.volumes.values()].find(({ handle }) => handle === request.handle);
  if (!owner) return request;
  const { volume, operations } = owner;
  return { ...request, volume, operations };
}

/** The request with the snapshot that has its handle. */
function bySnapshotHandle(
  memory: MutantMemory,
  request: SnapshotHandleRequest,
): SnapshotHandleRequest {
  const owner = [...memory.snapshots.values()].find(({ made }) => made === request.handle);
  if (!owner) return request;
  const { snapshot, operations } = owner;
  return { ...request, snapshot, operations };
}

/** Faults in the handles of volumes and snapshots. */
export const handleMutants: readonly Mutant[] = [
  {
    name: 'observe-obeys-foreign-handles',
    breaks: "Observe with another volume's handle returns that volume.",
    silent: true,
    killedBy: 'foreign-handles-show-nothing',
    change: (driver, memory) => ({
      observe: (request) => {
        const { handle } = request;
        return driver.observe(
          handle === undefined ? request : byHandle(memory, { ...request, handle }),
        );
      },
    }),
  },
  {
    name: 'expand-obeys-foreign-handles',
    breaks: "Expand with another volume's handle expands that volume.",
    silent: true,
    killedBy: 'foreign-handles-expand-nothing',
    change: (driver, memory) => ({
      expand: async (request) => {
        const result = await driver.expand(byHandle(memory, request));
        memory.notes.set(request.handle, String(result.sizeBytes));
        return result;
      },
      // A driver without enforced sizes reports none.
      observe: async (request) => {
        const found = await driver.observe(request);
        const grown = memory.notes.get(found.handle);
        return grown === undefined ? found : { ...found, sizeBytes: BigInt(grown) };
      },
    }),
  },
  {
    name: 'snapshots-are-of-foreign-handles',
    breaks: "CreateSnapshot with another volume's handle takes that volume.",
    silent: true,
    killedBy: 'foreign-handles-give-no-snapshot',
    change: (driver, memory) => ({
      createSnapshot: (request) => {
        const { operations } = request;
        return driver.createSnapshot({ ...byHandle(memory, request), operations });
      },
    }),
  },
  {
    name: 'delete-snapshot-obeys-foreign-handles',
    breaks: "DeleteSnapshot with another snapshot's handle deletes that snapshot.",
    silent: true,
    killedBy: 'foreign-snapshot-handles-reach-nothing',
    change: (driver, memory) => ({
      deleteSnapshot: (request) => driver.deleteSnapshot(bySnapshotHandle(memory, request)),
    }),
  },
  {
    name: 'observe-snapshot-obeys-foreign-handles',
    breaks: "ObserveSnapshot with another snapshot's handle returns that snapshot.",
    silent: true,
    killedBy: 'foreign-snapshot-handles-reach-nothing',
    change: (driver, memory) => ({
      observeSnapshot: (request) => driver.observeSnapshot(bySnapshotHandle(memory, request)),
    }),
  },
  {
    name: 'restore-obeys-foreign-handles',
    breaks: "Restore with another snapshot's handle restores that snapshot.",
    silent: true,
    killedBy: 'foreign-snapshot-handles-reach-nothing',
    change: (driver, memory) => ({
      restore: (request) => {
        const { handle } = request.snapshot;
        const owner = [...memory.snapshots.values()].find(({ made }) => made === handle);
        const snapshot = { ...(owner?.snapshot ?? request.snapshot), handle };
        return driver.restore({ ...request, snapshot });
      },
    }),
  },
  {
    name: 'observed-snapshots-have-no-size',
    breaks: 'ObserveSnapshot returns a minimum size of zero.',
    silent: false,
    killedBy: 'snapshots-need-no-handle',
    needsDevice: true,
    change: (driver) => ({
      observeSnapshot: async (request) => ({
        ...(await driver.observeSnapshot(request)),
        restoreSizeBytes: 0n,
      }),
    }),
  },
  {
    name: 'observe-snapshot-needs-its-handle',
    breaks: 'ObserveSnapshot without a handle is NotFound.',
    silent: false,
    killedBy: 'snapshots-need-no-handle',
    change: (driver) => ({
      observeSnapshot: (request) =>
        request.handle === undefined
          ? Promise.reject(new DriverError('NotFound', 'it has no handle'))
          : driver.observeSnapshot(request),
    }),
  },
  {
    name: 'delete-snapshot-needs-its-handle',
    breaks: 'DeleteSnapshot without a handle returns success but keeps the snapshot.',
    silent: false,
    killedBy: 'snapshots-need-no-handle',
    change: (driver) => ({
      deleteSnapshot: (request) =>
        request.handle === undefined ? Promise.resolve() : driver.deleteSnapshot(request),
    }),
  },
  {
    name: 'snapshots-are-of-their-completion',
    breaks: 'A snapshot is taken when it is observed as complete, not when it is created.',
    silent: true,
    killedBy: 'snapshots-are-of-their-call',
    change: (driver, memory) => ({
      createSnapshot: async (request) => {
        const { uid } = request.snapshot;
        const result = await driver.createSnapshot(request);
        const isNew = !memory.notes.has(uid);
        if (isNew) memory.notes.set(uid, 'begun');
        return memory.notes.get(uid) === 'begun' ? { ...result, ready: false } : result;
      },
      observeSnapshot: async (request) => {
        const { uid } = request.snapshot;
        const taken = memory.snapshots.get(uid);
        if (taken && memory.notes.get(uid) === 'begun') {
          await retake(driver, taken);
          memory.notes.set(uid, 'complete');
        }
        return driver.observeSnapshot({ ...request, handle: undefined });
      },
    }),
  },
];
