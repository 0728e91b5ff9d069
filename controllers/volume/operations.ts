import {
  type ApiObject,
  done,
  keyOf,
  type Kind,
  type OperationIds,
  type OperationIdsOptions,
  operationIds,
  type ReconcileContext,
  type Result,
} from 'kedge';
import { type OperationKind, operationKinds, type Operations } from '@kedge/driver-sdk';
import { type Snapshot, snapshots, type Volume, volumes } from '../kinds/index.js';

/** Name of the effect that an operation of a driver is recorded as. */
export function effectOf(kind: OperationKind): string {
  return `driver ${kind}`;
}

/** Names of all effects that drivers may have set. */
export const driverEffects: readonly string[] = operationKinds.map(effectOf);

/** The operations of one object, as its driver sees them: kept in the records of the object. */
function asOperations(ids: OperationIds): Operations {
  return {
    get: (kind) => ids.get(effectOf(kind)),
    set: (kind, id) => ids.set(effectOf(kind), id),
    clear: (kind) => ids.clear(effectOf(kind)),
  };
}

type Ports = Omit<OperationIdsOptions, 'key'>;

/** Operations of a volume, whichever part of the daemon calls its driver. */
export function operationsOfVolume(ports: Ports, volume: Volume): Operations {
  const key = `${volume.namespace}/${volume.name}`;
  return asOperations(operationIds({ ...ports, key }, volumes, volume));
}

/** Operations of a snapshot. */
export function operationsOfSnapshot(ports: Ports, snapshot: Snapshot): Operations {
  const key = `${snapshot.namespace}/${snapshot.name}`;
  return asOperations(operationIds({ ...ports, key }, snapshots, snapshot));
}

/** What is told of an operation that the provider goes on with. Nothing reads it back. */
export async function underWay(operations: Operations, kind: OperationKind): Promise<string> {
  const id = await operations.get(kind);
  return id === undefined ? '' : `the provider goes on with operation ${id}`;
}

/**
 * Takes the controller's finalizer off the object that was read, and forgets the effects in `moot`.
 * Idempotent: an object that is gone, or another one under its name, is left alone.
 * @throws StatusError FailedPrecondition (EffectPending) while another effect of it has not ended
 */
export function releaseObject<T extends ApiObject>(
  context: ReconcileContext,
  kind: Kind<T>,
  object: T,
  finalizer: string,
  moot: readonly string[],
): Promise<Result> {
  return context.txn(async (txn) => {
    const current = await txn.get(kind, keyOf(object));
    const finalizers = current?.metadata.finalizers ?? [];
    if (current?.metadata.uid !== object.metadata.uid || !finalizers.includes(finalizer))
      return done();
    const left = finalizers.filter((other) => other !== finalizer);
    txn.update(kind, { ...current, metadata: { ...current.metadata, finalizers: left } });
    for (const name of moot) txn.forgetEffect(kind, current, name);
    return done();
  });
}
