import type {
  HandleRequest,
  MountRequest,
  ProvisionRequest,
  SnapshotIdentity,
  SnapshotRequest,
} from '../../contract/driver.js';
import type { SynchronousDriver } from '../../provider/synchronous-driver.js';
import { delegate } from '../delegate.js';

/** A volume that a driver created. */
export type KnownVolume = ProvisionRequest & {
  readonly handle: string;
  /** The snapshot that it was restored from. */
  readonly restoredFrom?: string;
};

/** State that a faulty driver shares between its instances, like a provider. */
export interface MutantMemory {
  /** Existing volumes, by uid, oldest first. */
  readonly volumes: Map<string, KnownVolume>;
  /** Volumes that were deleted, by uid, oldest first. */
  readonly deleted: Map<string, KnownVolume>;
  /** The nodes that volumes are attached to, by uid. */
  readonly attached: Map<string, HandleRequest & { readonly devicePath: string }>;
  /** Mounts, by target. */
  readonly mounted: Map<string, MountRequest & { readonly path: string }>;
  /** Snapshots by uid, oldest first; `made` is the answer's handle. */
  readonly snapshots: Map<string, SnapshotRequest & { readonly made: string }>;
  /** Volumes that the mutant created itself; deleted after the trial. */
  readonly strays: Map<string, ProvisionRequest>;
  /** Snapshots that the mutant created itself. */
  readonly straySnapshots: Map<string, SnapshotRequest>;
  /** Running calls, by uid. */
  readonly running: Map<string, Promise<unknown>>;
  /** Further state of a mutant. */
  readonly notes: Map<string, string>;
}

/** An empty memory. */
export function emptyMemory(): MutantMemory {
  return {
    volumes: new Map(),
    deleted: new Map(),
    attached: new Map(),
    mounted: new Map(),
    snapshots: new Map(),
    strays: new Map(),
    straySnapshots: new Map(),
    running: new Map(),
    notes: new Map(),
  };
}

/** A way to break a correct driver. */
export interface Mutant {
  /** Kebab-case, unique: `provision-wipes`. */
  readonly name: string;
  /** The fault, in one sentence. */
  readonly breaks: string;
  /** Whether calls return success but lose, mix or expose data, so that only the data shows the fault. */
  readonly silent: boolean;
  /** Name of the check that must fail for it. */
  readonly killedBy: string;
  /** Whether the mutant has no effect on a driver without devices. */
  readonly needsDevice?: boolean;
  /**
   * The replaced methods. `driver` is correct, and `memory` has the effects of its calls. Called for every instance
   * that a check creates, with the same memory.
   */
  readonly change: (driver: SynchronousDriver, memory: MutantMemory) => Partial<SynchronousDriver>;
}

/** The correct driver with its successful calls recorded. */
export function remembering(driver: SynchronousDriver, memory: MutantMemory): SynchronousDriver {
  const { volumes, deleted, attached, mounted, snapshots } = memory;
  const made = (request: ProvisionRequest, handle: string, snapshot?: SnapshotIdentity): void => {
    const { uid } = request.volume;
    deleted.delete(uid);
    const origin = snapshot === undefined ? {} : { restoredFrom: snapshot.uid };
    volumes.set(uid, { ...request, handle, ...origin });
  };
  return delegate(driver, {
    provision: async (request) => {
      const result = await driver.provision(request);
      made(request, result.handle);
      return result;
    },
    restore: async (request) => {
      const result = await driver.restore(request);
      made(request, result.handle, request.snapshot);
      return result;
    },
    delete: async (request) => {
      await driver.delete(request);
      const known = volumes.get(request.volume.uid);
      if (known) deleted.set(request.volume.uid, known);
      volumes.delete(request.volume.uid);
    },
    attach: async (request) => {
      const result = await driver.attach(request);
      attached.set(request.volume.uid, { ...request, ...result });
      return result;
    },
    detach: async (request) => {
      await driver.detach(request);
      attached.delete(request.volume.uid);
    },
    mount: async (request) => {
      const result = await driver.mount(request);
      mounted.set(request.target, { ...request, path: result.path });
      return result;
    },
    unmount: async (request) => {
      await driver.unmount(request);
      mounted.delete(request.target);
    },
    createSnapshot: async (request) => {
      const result = await driver.createSnapshot(request);
      snapshots.set(request.snapshot.uid, { ...request, made: result.handle });
      return result;
    },
    deleteSnapshot: async (request) => {
      await driver.deleteSnapshot(request);
      snapshots.delete(request.snapshot.uid);
    },
  });
}
