import {
  type BlockSnapshots,
  DriverError,
  type Pending,
  type ProvisionResult,
  type RestoreRequest,
  type SnapshotHandleRequest,
  type SnapshotRequest,
  type SnapshotResult,
} from '@kedge/driver-sdk';
import { bytesOf, type CallOrder, inOrder, providerName } from '@kedge/driver-sdk/provider';
import type { Cloud3Api, CloudSnapshot } from './api.js';
import { snapshotTags, tagKeys } from './names.js';
import { callerOf, requireSize, snapshotCallerOf } from './parameters.js';
import type { VolumeReads } from './reads.js';
import type { Cloud3Volumes } from './volumes.js';

/** Time for which a created snapshot may be missing from lists, milliseconds: the provider has no token for it. */
const listLagMs = 30_000;

/** States of a snapshot that was deleted and is kept by a rule of the account. */
const gone: readonly string[] = ['recoverable', 'recovering'];

function result({ id, sizeGib, state }: CloudSnapshot): SnapshotResult {
  // The snapshot has the data of the time of the call, and can be restored when it is completed.
  return { handle: id, restoreSizeBytes: bytesOf(sizeGib), ready: state === 'completed' };
}

/** The parts of the driver that its snapshots use. */
export interface SnapshotParts {
  readonly order: CallOrder;
  readonly api: Cloud3Api;
  readonly reads: VolumeReads;
  readonly volumes: Cloud3Volumes;
  readonly cluster: string;
}

/** Snapshots of volumes of Amazon EBS. */
export class Cloud3Snapshots implements BlockSnapshots {
  readonly #of: SnapshotParts;

  constructor(parts: SnapshotParts) {
    this.#of = parts;
  }

  /** The snapshots with the name of a uid, the oldest first. */
  async #named(request: SnapshotHandleRequest): Promise<readonly CloudSnapshot[]> {
    const filter = { Name: `tag:${tagKeys.name}`, Values: [providerName(request.snapshot.uid)] };
    const found = await this.#of.api.snapshots(snapshotCallerOf(request), [filter]);
    return found
      .filter(({ state }) => !gone.includes(state))
      .sort((a, b) => a.startedAt - b.startedAt);
  }

  async #byId(request: SnapshotHandleRequest, id: string): Promise<CloudSnapshot | undefined> {
    const found = await this.#of.api.snapshot(snapshotCallerOf(request), id);
    if (!found || gone.includes(found.state)) return undefined;
    const name = found.tags[tagKeys.name] ?? '';
    if (name === providerName(request.snapshot.uid)) return found;
    throw new DriverError(
      'InvalidParameters',
      `snapshot ${id} at Amazon EBS has ${name === '' ? 'no name' : `the name ${name}`}: it does not belong to snapshot ${request.snapshot.uid}; restore its tag ${tagKeys.name} if it was changed`,
    );
  }

  async #find(request: SnapshotHandleRequest): Promise<CloudSnapshot | undefined> {
    const { handle } = request;
    return handle === undefined ? (await this.#named(request))[0] : this.#byId(request, handle);
  }

  create(request: SnapshotRequest): Promise<SnapshotResult | Pending> {
    const { snapshot, volume, handle, signal, operations } = request;
    const { order, api, reads, cluster } = this.#of;
    const clock = api.client.provider.clock;
    return inOrder(order, snapshot, signal, async () => {
      const asked = { ...request, handle: undefined };
      const caller = snapshotCallerOf(asked);
      const [first, ...further] = await this.#named(asked);
      // Made by calls without an answer that lists did not show in time.
      for (const { id } of further) await this.#remove(asked, id);
      if (first) return this.#completed(asked, first);
      await reads.require(request);
      const sentAt = Number(await operations.get('createSnapshot'));
      const now = clock.now();
      // The clock was ahead: the wait begins now.
      if (sentAt > now) await operations.set('createSnapshot', String(now));
      if (sentAt > 0 && now - sentAt < listLagMs) return { type: 'pending', pollAfterMs: 5_000 };
      await operations.set('createSnapshot', String(now));
      try {
        const made = await api.createSnapshot(caller, {
          VolumeId: handle,
          Description: `Kedge snapshot ${snapshot.namespace}/${snapshot.name}`.slice(0, 255),
          TagSpecifications: snapshotTags(snapshot, volume, cluster),
        });
        return result(made);
      } catch (thrown) {
        const { kind } = DriverError.from(thrown);
        if (kind !== 'Timeout' && kind !== 'Unavailable') await operations.clear('createSnapshot');
        throw thrown;
      }
    });
  }

  async #completed(request: SnapshotHandleRequest, found: CloudSnapshot): Promise<SnapshotResult> {
    if (found.state !== 'error') {
      await request.operations.clear('createSnapshot');
      return result(found);
    }
    await this.#remove(request, found.id);
    await request.operations.clear('createSnapshot');
    throw new DriverError(
      'Unavailable',
      `Amazon EBS failed to complete snapshot ${found.id}: ${found.words === '' ? 'state error' : found.words}; it was deleted and is taken again`,
    );
  }

  async #remove(request: SnapshotHandleRequest, id: string): Promise<void> {
    try {
      const input = { SnapshotId: id };
      await this.#of.api.make(snapshotCallerOf(request), 'DeleteSnapshot', input);
    } catch (thrown) {
      if (DriverError.from(thrown).kind !== 'NotFound') throw thrown;
    }
  }

  async observe(request: SnapshotHandleRequest): Promise<SnapshotResult> {
    const found = await this.#find(request);
    if (!found)
      throw new DriverError('NotFound', `Amazon EBS has no snapshot of ${request.snapshot.uid}`);
    if (found.state !== 'error') return result(found);
    throw new DriverError(
      'Internal',
      `Amazon EBS failed to complete snapshot ${found.id}: ${found.words === '' ? 'state error' : found.words}; delete it and take another one`,
    );
  }

  delete(request: SnapshotHandleRequest): Promise<void | Pending> {
    const { snapshot, signal, operations, handle } = request;
    const { order, api } = this.#of;
    return inOrder(order, snapshot, signal, async () => {
      const found =
        handle === undefined ? await this.#named(request) : [await this.#byId(request, handle)];
      for (const one of found) if (one) await this.#remove(request, one.id);
      const sentAt = Number(await operations.get('createSnapshot'));
      const now = api.client.provider.clock.now();
      const isRecent = sentAt > 0 && now - sentAt < listLagMs;
      if (handle === undefined && found.length === 0 && isRecent) {
        // The clock was ahead: the wait begins now.
        if (sentAt > now) await operations.set('createSnapshot', String(now));
        return { type: 'pending', pollAfterMs: 5_000 };
      }
      return operations.clear('createSnapshot');
    });
  }

  /** Creates a volume from the snapshot with at least the snapshot's size. */
  restore(request: RestoreRequest): Promise<ProvisionResult | Pending> {
    const { volume, signal, snapshot, parameters, sizeBytes } = request;
    return inOrder(this.#of.order, volume, signal, async () => {
      const { handle } = snapshot;
      const wanted = requireSize(sizeBytes, parameters);
      const found = await this.#of.api.snapshot(callerOf(request), handle);
      if (!found || gone.includes(found.state))
        throw new DriverError('NotFound', `Amazon EBS has no snapshot ${handle} any more`);
      if (found.tags[tagKeys.name] !== providerName(snapshot.uid))
        throw new DriverError(
          'InvalidParameters',
          `snapshot ${handle} at Amazon EBS has the name ${found.tags[tagKeys.name] ?? 'none'}: it does not belong to snapshot ${snapshot.uid}; restore its tag ${tagKeys.name} if it was changed`,
        );
      if (found.state === 'error')
        throw new DriverError(
          'Internal',
          `snapshot ${handle} at Amazon EBS is in state error; restore another one`,
        );
      if (found.state !== 'completed') return { type: 'pending', pollAfterMs: 2_000 };
      const source = { SnapshotId: handle };
      return this.#of.volumes.create(request, Math.max(wanted, found.sizeGib), source);
    });
  }
}
