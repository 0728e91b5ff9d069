import {
  type ApiObject,
  done,
  effectRecords,
  keyOf,
  keyString,
  type Kind,
  type OperationIds,
  type OperationIdsOptions,
  operationIds,
  type ReconcileContext,
  type Result,
} from 'kedge';
import { type OperationKind, operationKinds, type Operations } from '@kedge/driver-sdk';

/** Operations of a volume that may be in progress for several nodes at once. */
const nodeOperations = ['attach', 'detach'] as const satisfies readonly OperationKind[];

function isOfNode(kind: OperationKind): boolean {
  return nodeOperations.some((one) => one === kind);
}

/** Name of the effect for a driver operation; for attach and detach, the name in earlier releases. */
export function effectOf(kind: OperationKind): string {
  return `driver ${kind}`;
}

/** Names of the effects of attach and detach on a node. */
export function effectsOfNode(node: string): readonly string[] {
  return nodeOperations.map((kind) => effectOfNode(kind, node));
}

function effectOfNode(kind: OperationKind, node: string): string {
  return `${effectOf(kind)} ${node}`;
}

/** Earlier names of attach and detach, before they were recorded per node. */
export const effectsWithoutNode: readonly string[] = nodeOperations.map(effectOf);

/** Whether an effect is one of a driver. */
function isDriverEffect(name: string): boolean {
  return operationKinds.some((kind) => {
    const known = effectOf(kind);
    return name === known || (isOfNode(kind) && name.startsWith(`${known} `));
  });
}

/** The operations port of one object for its driver, stored in the object's effect record. */
function asOperations(ids: OperationIds): Operations {
  return {
    get: (kind) => ids.get(effectOf(kind)),
    set: (kind, id) => ids.set(effectOf(kind), id),
    clear: (kind) => ids.clear(effectOf(kind)),
  };
}

/** Like asOperations, with attach and detach of one node. Operations of an earlier release are continued. */
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
 * The operations of a provisioned object, for the cluster and the node part of the daemon. Nodes attach and
 * detach a volume independently, so these operations are recorded per node.
 * @param node the node of an attach or detach; none for a kind that is not attached
 */
export function operationsOf<T extends ApiObject>(
  ports: Ports,
  kind: Kind<T>,
  object: T,
  node?: string,
): Operations {
  const ids = operationIds({ ...ports, key: keyString(keyOf(object)) }, kind, object);
  return node === undefined ? asOperations(ids) : asOperationsOn(node, ids);
}

const everyCall = ['provision', 'restore', 'createSnapshot', 'delete', 'deleteSnapshot'] as const;
const deletions = ['delete', 'deleteSnapshot'] as const;

/**
 * Whether something of a volume or snapshot may be at its provider, or is being deleted there: a call that creates or
 * deletes it is recorded, and its end is not known. An object with a handle was created, so only a deletion counts.
 */
export async function hasOpenCall(
  { handle = '' }: { readonly handle?: string | undefined },
  operations: Operations,
): Promise<boolean> {
  if (handle !== '') return hasOpenDeletion(operations);
  for (const kind of everyCall) if ((await operations.get(kind)) !== undefined) return true;
  return false;
}

/** Whether the provider accepted a deletion of a volume or snapshot whose end is not known. */
export async function hasOpenDeletion(operations: Operations): Promise<boolean> {
  for (const kind of deletions) if ((await operations.get(kind)) !== undefined) return true;
  return false;
}

/** A text for people about an operation in progress at the provider; empty without one. No code reads it. */
export async function underWay(operations: Operations, kind: OperationKind): Promise<string> {
  const id = await operations.get(kind);
  return id === undefined ? '' : `operation ${id} is still running at the provider`;
}

/**
 * Removes the controller's finalizer from the object that was read, and the records of its driver operations, which
 * are irrelevant by then. Idempotent: no-op for a deleted object or another one of its name.
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
