import {
  type Clock,
  type ConditionStatus,
  done,
  type Lister,
  type Logger,
  type Manager,
  type ObjectStore,
  pending,
  type Random,
  type ReconcileContext,
  type Result,
  timestamp,
} from 'kedge';
import {
  type CallContext,
  type Driver,
  type DriverError,
  type DriverRegistry,
  type OperationKind,
  type Operations,
  type Parameters,
  type Pending,
} from '@kedge/driver-sdk';
import { nodes } from '../../node/kind.js';
import { type StorageClass, storageClasses } from '../../storage-class/kind.js';
import { type DriverOperation, type Volume, type VolumeStatus, volumes } from '../kind.js';
import type { ControllerPolicy } from '../../policy/policy.js';
import { holderOf, type ParameterResolver } from '../../secret/index.js';
import { deletedCondition, isDeletionAsked } from '../states/deletion-report.js';
import { type NewCondition, type Reason, setCondition } from '../../reasons/index.js';
import { driverCall, identityOf } from './driver-call.js';
import { operationsOfVolume, underWay } from '../states/operations.js';
import type { VolumeSituation } from '../states/plan.js';
import { reportedOfVolume, reportOf } from '../states/reported.js';
import { requireTurn, shownTime, writeStatus } from './retries.js';
import { type Part, type Turn, turnOf } from './turn.js';

/** Ports of the volume controller. */
export interface VolumeControllerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly drivers: DriverRegistry;
  readonly resolver: ParameterResolver;
  readonly node: string;
  /** Default: `cluster`, the part in the process that owns the store. */
  readonly part?: Part;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

/** Name of the controller: operations are recorded under it. */
export const controllerName = 'volume';

/** The key of a volume. */
export function keyOfVolume(volume: Volume): { namespace: string; name: string } {
  return { namespace: volume.namespace, name: volume.name };
}

/** A driver with all that a call of it needs. */
export interface PreparedCall {
  readonly driver: Driver;
  /** Parameters with unresolved secret references, which may be stored. */
  readonly parameters: Parameters;
  readonly context: CallContext;
}

/** Shared by the parts of the volume controller: status writes and driver calls. */
export class VolumeEffects {
  readonly options: VolumeControllerOptions;
  /** For volumes of a node's part, by uid. */
  readonly #missingSince = new Map<string, string>();

  constructor(options: VolumeControllerOptions) {
    this.options = options;
  }

  get now(): string {
    return timestamp(this.options.clock);
  }

  /** Writes status fields. @throws StatusError Aborted if the volume changed meanwhile: read it again. */
  async write(context: ReconcileContext, volume: Volume, status: VolumeStatus): Promise<void> {
    if (this.part === 'cluster') return writeStatus(context, volumes, volume, status);
    const { uid } = volume.metadata;
    if (status.missingSince) this.#missingSince.set(uid, status.missingSince);
    else if (status.missingSince === '') this.#missingSince.delete(uid);
    const report = reportOf(status, reportedOfVolume);
    if (Object.keys(report).length > 0) await writeStatus(context, volumes, volume, report);
  }

  /** A volume with the state of a node's part that the API does not return. */
  recalled(volume: Volume): Volume {
    const missingSince = this.#missingSince.get(volume.metadata.uid);
    // The controllers of the cluster decided it, whatever the policy says.
    const neverUsed = isDeletionAsked(volume);
    return { ...volume, neverUsed, ...(missingSince === undefined ? {} : { missingSince }) };
  }

  /** The node's part of a deletion: the data is deleted, the cluster part removes the finalizer. */
  async reportDeletion(context: ReconcileContext, volume: Volume): Promise<Result> {
    this.#missingSince.delete(volume.metadata.uid);
    const message = `node ${this.options.node} deleted its data`;
    const told = this.condition(volume, deletedCondition, 'True', 'Deleted', message);
    await this.write(context, volume, told);
    return done();
  }

  condition(
    volume: Volume,
    type: string,
    status: ConditionStatus,
    reason: Reason,
    message: string,
  ): Pick<Volume, 'conditions'> {
    const observedGeneration = volume.metadata.generation;
    const next: NewCondition = {
      type,
      status,
      reason,
      message,
      observedGeneration,
    };
    return { conditions: setCondition(volume.conditions, next, this.now) };
  }

  get part(): Part {
    return this.options.part ?? 'cluster';
  }

  /** Whether this process calls the driver for a volume. */
  turn(volume: Volume): Turn {
    const { node, manager } = this.options;
    return turnOf(volume, { node, part: this.part, nodes: manager.informer(nodes).lister });
  }

  /**
   * As {@link prepare}, for an immediate call.
   * @throws StatusError Aborted if the volume's owner changed since it was read
   */
  async begin(
    request: ReconcileContext,
    situation: VolumeSituation,
    node?: string,
  ): Promise<PreparedCall> {
    const { volume } = situation;
    const prepared = await this.prepare(situation, request.signal, node);
    const current = await this.options.store.get(volumes, keyOfVolume(volume));
    requireTurn(volumes, volume, current, (found) => this.turn(found));
    return prepared;
  }

  /** The driver and the context of a call; secrets are resolved now. @throws DriverError */
  async prepare(
    situation: VolumeSituation,
    signal: AbortSignal,
    node?: string,
  ): Promise<PreparedCall> {
    const { drivers, resolver } = this.options;
    const { volume, storageClass } = situation;
    const holder = holderOf(volumes, volume);
    const parts = { drivers, resolver, holder };
    const { driver: named, parameters } = await driverCall(parts, volume, storageClass);
    const resolved = resolver.resolve(parameters, holder);
    const { driver } = resolver.confidential(named, parameters, resolved);
    const context: CallContext = {
      volume: identityOf(volume),
      parameters: resolved,
      node: node ?? this.options.node,
      signal,
      operations: this.#operations(volume, node),
    };
    return { driver, parameters, context };
  }

  #operations(volume: Volume, node = this.options.node): Operations {
    return operationsOfVolume({ ...this.options, controller: controllerName }, volume, node);
  }

  /**
   * An operation is in progress at the provider: report it once and poll again without counting an attempt. The
   * report triggers no run and is not read back: the id is in the volume's effect record.
   */
  async goesOn(
    context: ReconcileContext,
    volume: Volume,
    call: OperationKind,
    { pollAfterMs }: Pending,
    node?: string,
  ): Promise<Result> {
    const shown = { call, startedAt: this.now, outcome: 'Pending', nextTryAt: '' };
    const message = await underWay(this.#operations(volume, node), call);
    return context.txn(async (txn) => {
      const current = await txn.get(volumes, keyOfVolume(volume));
      const last = current?.lastOperation;
      const isShown =
        last?.call === call && last.outcome === shown.outcome && last.message === message;
      if (current?.metadata.uid === volume.metadata.uid && !isShown)
        txn.updateStatus(volumes, keyOfVolume(volume), { lastOperation: { ...shown, message } });
      return pending(pollAfterMs);
    });
  }

  succeeded(call: string, startedAt: string): Pick<Volume, 'lastOperation'> {
    return {
      lastOperation: { call, startedAt, outcome: 'Succeeded', message: '', nextTryAt: '' },
    };
  }

  /** The failed call for `kedge volume explain`. */
  failedOperation(
    call: string,
    startedAt: string,
    error: DriverError,
    retryInMs: number | undefined,
  ): DriverOperation {
    const nextTryAt = shownTime(this.options.clock, retryInMs);
    return { call, startedAt, outcome: error.kind, message: error.message, nextTryAt };
  }

  /** The cached classes. */
  classes(): Lister<StorageClass> {
    return this.options.manager.informer(storageClasses).lister;
  }
}
