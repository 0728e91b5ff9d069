import {
  type BlockSnapshots,
  type CallContext,
  DriverError,
  isPending,
  type Operations,
  type Pending,
  type ProvisionResult,
  type RestoreRequest,
  type SnapshotHandleRequest,
  type SnapshotRequest,
  type SnapshotResult,
} from '@kedge/driver-sdk';
import {
  bytesOf,
  type Caller,
  type CallOrder,
  inOrder,
  providerName,
  provisioned,
} from '@kedge/driver-sdk/provider';
import type { CloudSnapshot } from './api.js';
import { tokenOf } from './parameters.js';
import { requireSize } from './requests.js';
import type { Cloud1Volumes } from './volumes.js';

/**
 * The stored record of a snapshot: its source volume, which is stored before the call, and its id, once it is known.
 * Without the record, the driver looks for the snapshot among those of each volume, and does not find it if the source
 * volume was deleted.
 */
interface Kept {
  readonly source: string;
  readonly id: string | undefined;
}

async function keptIn(operations: Operations): Promise<Kept | undefined> {
  const [source, id] = ((await operations.get('createSnapshot')) ?? '').split(' ');
  return source === undefined || source === '' ? undefined : { source, id };
}

function result({ id, sizeGib }: CloudSnapshot): SnapshotResult {
  // The snapshot has the data of the time of the call, and can be restored at once.
  return { handle: id, restoreSizeBytes: bytesOf(sizeGib), ready: true };
}

/** Snapshots of DigitalOcean volumes. */
export class Cloud1Snapshots implements BlockSnapshots {
  readonly #order: CallOrder;
  readonly #volumes: Cloud1Volumes;

  constructor(order: CallOrder, volumes: Cloud1Volumes) {
    this.#order = order;
    this.#volumes = volumes;
  }

  #caller({ parameters, snapshot, signal }: SnapshotHandleRequest): Caller {
    return { token: tokenOf(parameters), about: snapshot.uid, signal };
  }

  /** Finds the snapshot with a uid among those of a volume; undefined if the snapshot or the volume does not exist. */
  async #among(caller: Caller, volume: string, uid: string): Promise<CloudSnapshot | undefined> {
    const all = await this.#volumes.api.snapshotsOf(caller, volume).catch((error: unknown) => {
      if (error instanceof DriverError && error.kind === 'NotFound') return [];
      throw error;
    });
    return all.find(({ name }) => name === providerName(uid));
  }

  async #byId(caller: Caller, id: string, uid: string): Promise<CloudSnapshot | undefined> {
    const found = await this.#volumes.api.snapshot(caller, id).catch((error: unknown) => {
      if (error instanceof DriverError && error.kind === 'NotFound') return undefined;
      throw error;
    });
    if (!found || found.name === providerName(uid)) return found;
    throw new DriverError(
      'InvalidParameters',
      `snapshot ${id} at DigitalOcean has the name ${found.name}: it does not belong to the snapshot with uid ${uid}; if it was renamed, give it the name ${providerName(uid)} again`,
    );
  }

  /**
   * Finds the snapshot of a request by its handle, or by the stored record; without both, among the snapshots of the
   * volumes of the class's region whose names begin with `kedge-`. Returns undefined if it is not found.
   */
  async #find(request: SnapshotHandleRequest): Promise<CloudSnapshot | undefined> {
    const { handle, snapshot, operations, parameters } = request;
    const caller = this.#caller(request);
    if (handle !== undefined) return this.#byId(caller, handle, snapshot.uid);
    const kept = await keptIn(operations);
    if (kept?.id !== undefined) return this.#byId(caller, kept.id, snapshot.uid);
    if (kept) return this.#among(caller, kept.source, snapshot.uid);
    const { region = '' } = parameters;
    const query: Readonly<Record<string, string>> = region === '' ? {} : { region };
    for (const volume of await this.#volumes.api.volumes(caller, query)) {
      if (!volume.name.startsWith('kedge-')) continue;
      const found = await this.#among(caller, volume.id, snapshot.uid);
      if (found) return found;
    }
    return undefined;
  }

  create(request: SnapshotRequest): Promise<SnapshotResult | Pending> {
    const { snapshot, handle, signal, operations } = request;
    return inOrder(this.#order, snapshot, signal, async () => {
      const caller = this.#caller(request);
      await this.#volumes.require(request);
      const find = (): Promise<CloudSnapshot | undefined> =>
        this.#among(caller, handle, snapshot.uid);
      let made = await find();
      if (!made) {
        await operations.set('createSnapshot', handle);
        const name = providerName(snapshot.uid);
        try {
          made = await this.#volumes.api.createSnapshot(caller, handle, name);
        } catch (thrown) {
          if (DriverError.from(thrown).kind !== 'AlreadyExists') throw thrown;
          made = await find();
          if (!made) return { type: 'pending', pollAfterMs: 5_000 };
        }
      }
      // The record stays until the snapshot is deleted: without the volume, nothing else leads to the snapshot.
      await operations.set('createSnapshot', `${handle} ${made.id}`);
      return result(made);
    });
  }

  async observe(request: SnapshotHandleRequest): Promise<SnapshotResult> {
    const found = await this.#find(request);
    if (found) return result(found);
    throw new DriverError('NotFound', `DigitalOcean has no snapshot of ${request.snapshot.uid}`);
  }

  delete(request: SnapshotHandleRequest): Promise<void> {
    const { snapshot, signal, operations } = request;
    return inOrder(this.#order, snapshot, signal, async () => {
      const found = await this.#find(request);
      if (found)
        await this.#volumes.api
          .deleteSnapshot(this.#caller(request), found.id)
          .catch((error: unknown) => {
            if (!(error instanceof DriverError) || error.kind !== 'NotFound') throw error;
          });
      await operations.clear('createSnapshot');
    });
  }

  /** Creates a volume with the size of the snapshot, and then grows it to the requested size. */
  restore(request: RestoreRequest): Promise<ProvisionResult | Pending> {
    const { volume, signal } = request;
    return inOrder(this.#order, volume, signal, async () => {
      const wanted = requireSize(request.sizeBytes);
      const made = await this.#volumes.create(request, () => this.#source(request));
      if ('type' in made) return made;
      if (made.sizeGib >= wanted) return provisioned(made);
      const context: CallContext = request;
      const grown = await this.#volumes.resize({ ...context, handle: made.id }, 'restore', wanted);
      return isPending(grown) ? grown : { handle: made.id, sizeBytes: grown };
    });
  }

  async #source(request: RestoreRequest): Promise<Readonly<Record<string, string | number>>> {
    const { snapshot, parameters, volume, signal } = request;
    const { handle, uid } = snapshot;
    const { region = '' } = parameters;
    const caller = { token: tokenOf(parameters), about: volume.uid, signal };
    const found = await this.#byId(caller, handle, uid);
    if (!found)
      throw new DriverError('NotFound', `DigitalOcean has no snapshot ${handle} any more`);
    if (found.regions.includes(region))
      return { snapshot_id: found.id, size_gigabytes: found.sizeGib };
    throw new DriverError(
      'InvalidParameters',
      `parameter region: snapshot ${handle} is in region ${found.regions.join(', ')}; restore it with a class of that region`,
    );
  }
}
