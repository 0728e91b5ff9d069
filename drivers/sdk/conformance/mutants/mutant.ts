import type {
  HandleRequest,
  MountRequest,
  ProvisionRequest,
  SnapshotIdentity,
  SnapshotRequest,
} from '../../contract/driver.js';
import type { SynchronousDriver } from '../../provider/synchronous-driver.js';
import { delegate } from '../delegate.js';

/** A volume that a driver made. */
export type KnownVolume = ProvisionRequest & {
  readonly handle: string;
  /** The snapshot that it was restored from. */
  readonly restoredFrom?: string;
};

/** State that a faulty driver shares between its instances, like a provider. */
export interface MutantMemory {
  /** Volumes that were made and not deleted, by uid, oldest first. */
  readonly volumes: Map<string, KnownVolume>;
  /** Volumes that were deleted, by uid, oldest first. */
  readonly deleted: Map<string, KnownVolume>;
  /** The nodes that volumes are attached to, by uid. */
  readonly attached: Map<string, HandleRequest & { readonly devicePath: string }>;
  /** Mounts, by target. */
  readonly mounted: Map<string, MountRequest & { readonly path: string }>;
  /** Snapshots by uid, oldest first; `made` is the answer's handle. */
  readonly snapshots: Map<string, SnapshotRequest & { readonly made: string }>;
  /** Volumes that the mutant made on its own; they are deleted after it was tried. */
  readonly strays: Map<string, ProvisionRequest>;
  /** Snapshots that the mutant made on its own. */
  readonly straySnapshots: Map<string, SnapshotRequest>;
  /** Calls under way, by what they are about. */
  readonly running: Map<string, Promise<unknown>>;
  /** Whatever else a mutant has to know. */
  readonly notes: Map<string, string>;
}

/** A memory of nothing. */
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
  /** It answers success and loses, mixes or exposes data: only a look at the data tells. */
  readonly silent: boolean;
  /** Name of the check that must fail for it. */
  readonly killedBy: string;
  /** It changes nothing in a driver that attaches no device. */
  readonly needsDevice?: boolean;
  /**
   * The methods that it replaces. `driver` is correct, and what its calls did is in `memory`. Called for
   * every instance that a check asks for, with the same memory.
   */
  readonly change: (driver: SynchronousDriver, memory: MutantMemory) => Partial<SynchronousDriver>;
}

/** The correct driver, its successful calls recorded. */
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
