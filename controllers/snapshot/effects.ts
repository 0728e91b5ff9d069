import {
  type ConditionStatus,
  done,
  pending,
  type ReconcileContext,
  type Result,
  timestamp,
} from 'kedge';
import type {
  Driver,
  DriverError,
  OperationKind,
  Operations,
  Parameters,
  Pending,
  SnapshotHandleRequest,
} from '@kedge/driver-sdk';
import { nodes } from '../node/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { type DriverOperation, type Volume, volumes } from '../volume/kind.js';
import { type Snapshot, type SnapshotStatus, snapshots } from './kind.js';
import { holderOf } from '../secret/index.js';
import {
  deletedCondition,
  driverCall,
  keyOfVolume,
  operationsOfSnapshot,
  type Part,
  reportedOfSnapshot,
  reportOf,
  underWay,
  requireSeen,
  requireTurn,
  shownTime,
  type Turn,
  turnOf,
  type VolumeControllerOptions,
  writeStatus,
} from '../volume/index.js';
import { type Reason, setCondition } from '../reasons/index.js';

/** Ports of the snapshot controller: those of the volume controller. */
export type SnapshotControllerOptions = VolumeControllerOptions;

/** Name of the controller: operations are recorded under it. */
export const controllerName = 'snapshot';

/** The key of a snapshot. */
export function keyOfSnapshot(snapshot: Snapshot): { namespace: string; name: string } {
  return { namespace: snapshot.namespace, name: snapshot.name };
}

/** A snapshot in progress of an earlier release without a recorded place is at `known`. */
export function withHome(
  snapshot: Snapshot,
  known: Pick<Snapshot, 'topology'> | undefined,
): Snapshot {
  const { topology } = snapshot;
  if (topology !== undefined && Object.keys(topology).length > 0) return snapshot;
  return known?.topology === undefined ? snapshot : { ...snapshot, topology: known.topology };
}

/** A driver with all that a call of it needs. */
export interface PreparedCall {
  readonly driver: Driver;
  readonly request: SnapshotHandleRequest;
}

/** Shared by the parts of the snapshot controller: status writes and driver calls. */
export class SnapshotEffects {
  readonly options: SnapshotControllerOptions;

  constructor(options: SnapshotControllerOptions) {
    this.options = options;
  }

  /** Writes status fields. @throws StatusError Aborted if the snapshot changed meanwhile: read it again. */
  write(context: ReconcileContext, snapshot: Snapshot, status: SnapshotStatus): Promise<void> {
    const report = this.part === 'node' ? reportOf(status, reportedOfSnapshot) : status;
    return writeStatus(context, snapshots, snapshot, report);
  }

  /** The node's part of a deletion: the data is deleted, the cluster part removes the finalizer. */
  async reportDeletion(context: ReconcileContext, snapshot: Snapshot): Promise<Result> {
    const { clock, node } = this.options;
    const message = `node ${node} deleted its data`;
    const told = { type: deletedCondition, status: 'True', reason: 'Deleted', message } as const;
    const conditions = setCondition(snapshot.conditions, told, timestamp(clock));
    await this.write(context, snapshot, { conditions });
    return done();
  }

  condition(
    snapshot: Snapshot,
    status: ConditionStatus,
    reason: Reason,
    message: string,
  ): Pick<Snapshot, 'conditions'> {
    const observedGeneration = snapshot.metadata.generation;
    const next = { type: 'Ready', status, reason, message, observedGeneration };
    return { conditions: setCondition(snapshot.conditions, next, timestamp(this.options.clock)) };
  }

  /** The snapshot's status, and its source free again, in one transaction. */
  settle(
    context: ReconcileContext,
    snapshot: Snapshot,
    source: Volume | undefined,
    status: SnapshotStatus,
  ): Promise<void> {
    // A node's part only reports: the cluster part releases the source.
    if (this.part === 'node') return this.write(context, snapshot, status);
    const { uid } = snapshot.metadata;
    return context.txn(async (txn) => {
      requireSeen(snapshots, snapshot, await txn.get(snapshots, keyOfSnapshot(snapshot)));
      txn.updateStatus(snapshots, keyOfSnapshot(snapshot), status);
      if (!source) return;
      const key = keyOfVolume(source);
      const current = await txn.get(volumes, key, { watching: ['snapshotsInFlight'] });
      const inFlight = current?.snapshotsInFlight ?? [];
      if (current?.metadata.uid !== source.metadata.uid || !inFlight.includes(uid)) return;
      txn.updateStatus(volumes, key, { snapshotsInFlight: inFlight.filter((u) => u !== uid) });
    });
  }

  get part(): Part {
    return this.options.part ?? 'cluster';
  }

  /** Whether this process calls the driver for a volume or its snapshot. */
  turn(placed: Pick<Volume, 'namespace' | 'name' | 'topology' | 'attachments'>): Turn {
    const { node, manager } = this.options;
    return turnOf(placed, { node, part: this.part, nodes: manager.informer(nodes).lister });
  }

  /**
   * As {@link prepare}, for an immediate call.
   * @throws StatusError Aborted if the snapshot's owner changed since it was read
   */
  async begin(snapshot: Snapshot, request: ReconcileContext): Promise<PreparedCall> {
    const prepared = await this.prepare(snapshot, request.signal);
    const current = await this.options.store.get(snapshots, keyOfSnapshot(snapshot));
    requireTurn(snapshots, snapshot, current, (found) => this.turn(withHome(found, snapshot)));
    return prepared;
  }

  /** Placement as captured, credentials from the live class. @throws DriverError */
  async prepare(snapshot: Snapshot, signal: AbortSignal): Promise<PreparedCall> {
    const { drivers, resolver, manager, node } = this.options;
    const { driver: name = '', driverParameters = {}, storageClassName = '' } = snapshot;
    const live = manager.informer(storageClasses).lister.get(storageClassName);
    const holder = holderOf(snapshots, snapshot);
    const { driver: named, parameters } = await driverCall(
      { drivers, resolver, holder },
      { driver: name, driverParameters, storageClassName },
      live,
    );
    const resolved: Parameters = resolver.resolve(parameters, holder);
    const { driver } = resolver.confidential(named, parameters, resolved);
    const { uid } = snapshot.metadata;
    return {
      driver,
      request: {
        snapshot: { uid, ...keyOfSnapshot(snapshot) },
        handle: snapshot.handle || undefined,
        parameters: resolved,
        node,
        signal,
        operations: this.#operations(snapshot),
      },
    };
  }

  #operations(snapshot: Snapshot): Operations {
    return operationsOfSnapshot({ ...this.options, controller: controllerName }, snapshot);
  }

  /** An operation is in progress at the provider: report it once and poll again without counting an attempt. */
  async goesOn(
    context: ReconcileContext,
    snapshot: Snapshot,
    call: OperationKind,
    { pollAfterMs }: Pending,
  ): Promise<Result> {
    const key = keyOfSnapshot(snapshot);
    const message = await underWay(this.#operations(snapshot), call);
    const told = this.operation(call, timestamp(this.options.clock));
    const shown = { ...told, outcome: 'Pending', message };
    return context.txn(async (txn) => {
      const current = await txn.get(snapshots, key);
      const last = current?.lastOperation;
      const isShown =
        last?.call === call && last.outcome === shown.outcome && last.message === message;
      if (current?.metadata.uid === snapshot.metadata.uid && !isShown)
        txn.updateStatus(snapshots, key, { lastOperation: shown });
      return pending(pollAfterMs);
    });
  }

  /** The report of a call. */
  operation(
    call: string,
    startedAt: string,
    error?: DriverError,
    againMs?: number,
  ): DriverOperation {
    const { clock } = this.options;
    const nextTryAt = shownTime(clock, againMs);
    const outcome = error?.kind ?? 'Succeeded';
    return { call, startedAt, outcome, message: error?.message ?? '', nextTryAt };
  }
}
