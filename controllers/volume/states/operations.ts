import {
  type ApiObject,
  done,
  effectRecords,
  keyOf,
  type Kind,
  type OperationIds,
  type OperationIdsOptions,
  operationIds,
  type ReconcileContext,
  type Result,
} from 'kedge';
import { type OperationKind, operationKinds, type Operations } from '@kedge/driver-sdk';
import { type Snapshot, snapshots } from '../../snapshot/kind.js';
import { type Volume, volumes } from '../kind.js';

/** Operations that a volume may have under way for several nodes at once. */
const nodeOperations = ['attach', 'detach'] as const satisfies readonly OperationKind[];

function isOfNode(kind: OperationKind): boolean {
  return nodeOperations.some((one) => one === kind);
}

/** Name of the effect that an operation of a driver is recorded as; of attach and detach, the one of earlier releases. */
export function effectOf(kind: OperationKind): string {
  return `driver ${kind}`;
}

/** Names of the effects that calls for a node are recorded as. */
export function effectsOfNode(node: string): readonly string[] {
  return nodeOperations.map((kind) => effectOfNode(kind, node));
}

function effectOfNode(kind: OperationKind, node: string): string {
  return `${effectOf(kind)} ${node}`;
}

/** Names that attach and detach had before they were recorded by node. */
export const effectsWithoutNode: readonly string[] = nodeOperations.map(effectOf);

/** Whether a driver has set the effect. */
export function isDriverEffect(name: string): boolean {
  return operationKinds.some((kind) => {
    const known = effectOf(kind);
    return name === known || (isOfNode(kind) && name.startsWith(`${known} `));
  });
}

/** The operations of one object, as its driver sees them: kept in the record of the object. */
function asOperations(ids: OperationIds): Operations {
  return {
    get: (kind) => ids.get(effectOf(kind)),
    set: (kind, id) => ids.set(effectOf(kind), id),
    clear: (kind) => ids.clear(effectOf(kind)),
  };
}

/** As asOperations; attach and detach are those of one node. What an earlier release began is gone on with. */
function asOperationsOn(node: string, ids: OperationIds): Operations {
  const every = asOperations(ids);
  return {
    get: async (kind) => {
      if (!isOfNode(kind)) return every.get(kind);
      return (await ids.get(effectOfNode(kind, node))) ?? (await every.get(kind));
    },
    set: (kind, id) =>
      isOfNode(kind) ? ids.set(effectOfNode(kind, node), id) : every.set(kind, id),
    clear: async (kind) => {
      if (isOfNode(kind)) await ids.clear(effectOfNode(kind, node));
      await every.clear(kind);
    },
  };
}

type Ports = Omit<OperationIdsOptions, 'key'>;

/**
 * Operations of a volume, whichever part of the daemon calls its driver. Nodes attach and detach a volume
 * without each other: those are recorded by the node that they are for.
 */
export function operationsOfVolume(ports: Ports, volume: Volume, node: string): Operations {
  const key = `${volume.namespace}/${volume.name}`;
  return asOperationsOn(node, operationIds({ ...ports, key }, volumes, volume));
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
 * Takes the controller's finalizer off the object that was read, and forgets the operations of its driver: they
 * are moot by then. Idempotent: an object that is gone, or another one under its name, is left alone.
 * @throws StatusError FailedPrecondition (EffectPending) while another effect of it has not ended
 */
export function releaseObject<T extends ApiObject>(
  context: ReconcileContext,
  kind: Kind<T>,
  object: T,
  finalizer: string,
): Promise<Result> {
  return context.txn(async (txn) => {
    const current = await txn.get(kind, keyOf(object));
    const finalizers = current?.metadata.finalizers ?? [];
    if (current?.metadata.uid !== object.metadata.uid || !finalizers.includes(finalizer))
      return done();
    const left = finalizers.filter((other) => other !== finalizer);
    txn.update(kind, { ...current, metadata: { ...current.metadata, finalizers: left } });
    const record = await txn.get(effectRecords, { name: object.metadata.uid });
    for (const name of Object.keys(record?.effects ?? {}).filter(isDriverEffect))
      txn.forgetEffect(kind, current, name);
    return done();
  });
}
