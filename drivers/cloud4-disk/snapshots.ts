import {
  type BlockSnapshots,
  DriverError,
  type Observed,
  type OperationState,
  type Pending,
  type ProvisionResult,
  type RestoreRequest,
  type SnapshotHandleRequest,
  type SnapshotRequest,
  type SnapshotResult,
} from '@kedge/driver-sdk';
import {
  absent,
  bytesOf,
  carryOut,
  done,
  inOrder,
  isKind,
  notYet,
  providerName,
  underWay,
  type CallOrder,
} from '@kedge/driver-sdk/provider';
import type { CloudSnapshot } from './resources.js';
import type { Cloud4Disks } from './disks.js';
import {
  described,
  diskHandle,
  snapshotHandle,
  type SnapshotPath,
  snapshotPathOf,
} from './names.js';
import { ifFound, type Requests } from './requests.js';
import type { Caller } from './session.js';

/** Whether the data of a snapshot no longer changes: the provider still copies it, or has copied it. */
function isCut({ status }: CloudSnapshot): boolean {
  return status === 'UPLOADING' || status === 'READY';
}

function result(snapshot: CloudSnapshot): SnapshotResult {
  return {
    handle: snapshotHandle(snapshot),
    restoreSizeBytes: bytesOf(snapshot.sizeGib),
    ready: snapshot.status === 'READY',
  };
}

/** Snapshots of Google Cloud, which are in no zone. */
export class Cloud4Snapshots implements BlockSnapshots {
  readonly #order: CallOrder;
  readonly #requests: Requests;
  readonly #disks: Cloud4Disks;

  constructor(order: CallOrder, requests: Requests, disks: Cloud4Disks) {
    this.#order = order;
    this.#requests = requests;
    this.#disks = disks;
  }

  /**
   * Returns the path of a snapshot.
   * @throws DriverError InvalidParameters if the handle is that of another snapshot
   */
  async #path(request: SnapshotHandleRequest): Promise<SnapshotPath> {
    const { handle, snapshot } = request;
    const name = providerName(snapshot.uid);
    if (handle === undefined) return { project: await this.#requests.projectOf(request), name };
    const path = snapshotPathOf(handle);
    if (path?.name === name) return path;
    throw new DriverError(
      'InvalidParameters',
      `snapshot ${handle} does not belong to the snapshot with uid ${snapshot.uid}: its name is ${name}`,
    );
  }

  create(request: SnapshotRequest): Promise<SnapshotResult | Pending> {
    const { snapshot, signal } = request;
    return inOrder(this.#order, snapshot, signal, () => this.#create(request));
  }

  async #create(request: SnapshotRequest): Promise<SnapshotResult | Pending> {
    const { snapshot, operations } = request;
    const { api, client, cluster } = this.#requests;
    const caller: Caller = { ...this.#requests.callerOf(request), about: snapshot.uid };
    const source = await this.#disks.require(request);
    const path = { project: source.project, name: providerName(snapshot.uid) };
    // The removal of a failed snapshot is completed first: it would delete the next one, which has its name.
    if ((await operations.get('deleteSnapshot')) !== undefined) {
      const removed = await this.#remove(request, caller, path);
      if (removed) return removed;
    }
    const find = (): Promise<CloudSnapshot | undefined> => ifFound(api.snapshot(caller, path));
    const observe = async (): Promise<Observed<SnapshotResult>> => {
      const found = await find();
      if (!found) return absent;
      if (isCut(found)) return done(result(found));
      if (found.status !== 'FAILED') return underWay;
      // Its name is needed for the next attempt, whose key must not return the failed operation.
      await this.#remove(request, caller, path);
      await operations.clear('createSnapshot');
      throw new DriverError(
        'Unavailable',
        `snapshot ${snapshotHandle(found)} has failed at Google Cloud; it is deleted and created again`,
      );
    };
    const createdFor = `${snapshot.namespace}/${snapshot.name}`;
    try {
      return await carryOut(client.clock, request, 'createSnapshot', {
        observe,
        start: (requestId) =>
          api.insertSnapshot(caller, path.project, requestId, {
            name: path.name,
            sourceDisk: diskHandle(source),
            description: described({ cluster, uid: snapshot.uid, createdFor }),
          }),
        // The operation ends when the data is copied, but the data is fixed long before that.
        state: (id) => this.#state(caller, id, find),
      });
    } catch (error) {
      if (!isKind(error, 'AlreadyExists')) throw error;
      const seen = await observe();
      if (seen.type !== 'done') return notYet(2_000);
      await operations.clear('createSnapshot');
      return seen.result;
    }
  }

  async #state(
    caller: Caller,
    id: string,
    find: () => Promise<CloudSnapshot | undefined>,
  ): Promise<OperationState> {
    const state = await this.#requests.api.operationState(caller, id);
    if (state.type !== 'running') return state;
    const found = await find();
    return found && isCut(found) ? { type: 'ended' } : state;
  }

  async observe(request: SnapshotHandleRequest): Promise<SnapshotResult> {
    const path = await this.#path(request);
    const caller = this.#requests.callerOf(request);
    const found = await ifFound(this.#requests.api.snapshot(caller, path));
    if (!found || found.status === 'DELETING')
      throw new DriverError('NotFound', `Google Cloud has no snapshot ${snapshotHandle(path)}`);
    if (found.status !== 'FAILED') return result(found);
    throw new DriverError(
      'Internal',
      `snapshot ${snapshotHandle(path)} has failed at Google Cloud; delete it and create another one`,
    );
  }

  delete(request: SnapshotHandleRequest): Promise<void | Pending> {
    const { snapshot, signal } = request;
    return inOrder(this.#order, snapshot, signal, () => this.#delete(request));
  }

  async #delete(request: SnapshotHandleRequest): Promise<void | Pending> {
    const { operations } = request;
    const caller = this.#requests.callerOf(request);
    // Without a handle, the snapshot of an operation in progress may not exist yet.
    if (request.handle === undefined) {
      if (await this.#requests.runs(caller, operations, 'createSnapshot')) return notYet(2_000);
    }
    const removed = await this.#remove(request, caller, await this.#path(request));
    return removed ?? operations.clear('createSnapshot');
  }

  /** Deletes a snapshot by its name. Its deletion is recorded first, under the key that repeats it. */
  async #remove(
    { operations, signal }: Pick<SnapshotHandleRequest, 'operations' | 'signal'>,
    caller: Caller,
    path: SnapshotPath,
  ): Promise<Pending | undefined> {
    const { api, client } = this.#requests;
    const observe = async (): Promise<Observed<undefined>> => {
      const found = await ifFound(api.snapshot(caller, path));
      if (!found) return done(undefined);
      return found.status === 'DELETING' ? underWay : absent;
    };
    try {
      return await carryOut(client.clock, { operations, signal }, 'deleteSnapshot', {
        observe,
        start: (requestId) => api.deleteSnapshot(caller, path, requestId),
        state: (id) => api.operationState(caller, id),
      });
    } catch (error) {
      if (!isKind(error, 'NotFound')) throw error;
      await operations.clear('deleteSnapshot');
      return undefined;
    }
  }

  /** Creates a disk of at least the snapshot's size from it. */
  restore(request: RestoreRequest): Promise<ProvisionResult | Pending> {
    const { volume, signal } = request;
    return inOrder(this.#order, volume, signal, () =>
      this.#disks.create(request, 'restore', (caller) => this.#source(caller, request)),
    );
  }

  async #source(
    caller: Caller,
    request: RestoreRequest,
  ): Promise<{ readonly sourceSnapshot: string; readonly gib: number }> {
    const { handle } = request.snapshot;
    const path = await this.#path({ ...request, handle });
    const found = await ifFound(this.#requests.api.snapshot(caller, path));
    if (!found)
      throw new DriverError('NotFound', `Google Cloud has no snapshot ${handle} any more`);
    if (found.status === 'READY')
      return { sourceSnapshot: snapshotHandle(found), gib: found.sizeGib };
    throw new DriverError(
      'Unavailable',
      `snapshot ${handle} has status ${found.status}; it is restored once it is READY`,
    );
  }
}
