import {
  type ApiObject,
  type Condition,
  findCondition,
  hasCode,
  isDeleting,
  keyOf,
  type Kind,
  type ObjectStore,
  runTxn,
  type Transaction,
} from 'kedge';
import { configmaps } from '../configmap/kind.js';
import { events } from '../event/kind.js';
import { instances } from '../instance/kind.js';
import { secrets } from '../secret/kind.js';
import { services } from '../service/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { type DriverOperation, type Volume, volumes } from '../volume/kind.js';
import { type Namespace, namespaces } from './kind.js';
import { snapshotObstacle } from '../snapshot/index.js';
import { deletionObstacle } from '../volume/index.js';

/** An object that remains in a namespace. */
export interface Remaining {
  readonly kind: string;
  readonly name: string;
  /** The reason why it remains, with the remedy if an operator must act. */
  readonly message: string;
  /** Whether it is deleted automatically; otherwise its users must be stopped first. */
  readonly finalizing: boolean;
}

/** Status fields with reasons; kinds have some of these. */
interface ObjectStatus extends ApiObject {
  readonly status?: string;
  readonly failureMessage?: string;
  readonly lastOperation?: DriverOperation;
  readonly conditions?: readonly Condition[];
}

/** Why an object that is being deleted still exists, according to its own status. */
function messageOf(object: ObjectStatus): string {
  const { status, failureMessage, lastOperation, conditions } = object;
  const failed = lastOperation && lastOperation.outcome !== 'Succeeded' && lastOperation.message;
  const unmet = (type: string): string | undefined => {
    const condition = findCondition(conditions, type);
    return condition?.status === 'False' ? condition.message : undefined;
  };
  // The wait of the deletion may be newer than the failure, and neither includes the other.
  const waits = unmet('Deleted');
  const failure = failureMessage || failed || undefined;
  const report = [waits, failure].filter((text) => text !== undefined && text !== '');
  const why =
    report.length > 0 ? [...new Set(report)].join('; ') : unmet('Provisioned') || unmet('Ready');
  return `${status || 'being deleted'}${why ? `: ${why}` : ''}`;
}

/**
 * Deletes the objects of a kind in a namespace, under the rules of a user's DELETE, and returns the remaining ones. A
 * deletion is guarded by the version of the object that the rules have read.
 * @param obstacleOf the reason why an object may not be deleted; undefined if it may be
 */
async function clear<T extends ApiObject>(
  store: ObjectStore,
  kind: Kind<T>,
  within: Namespace,
  obstacleOf: (object: T) => string | undefined = () => undefined,
): Promise<readonly Remaining[]> {
  const { items } = await store.list(kind, { namespace: within.name });
  const remaining: Remaining[] = [];
  for (const item of items) {
    const { name } = item;
    const asked = isDeleting(item);
    const obstacle = asked ? undefined : obstacleOf(item);
    if (obstacle !== undefined) {
      remaining.push({ kind: kind.kind, name, message: obstacle, finalizing: false });
      continue;
    }
    if (!asked && !(await requestDeletion(store, kind, item, within))) continue;
    remaining.push({ kind: kind.kind, name, message: messageOf(item), finalizing: true });
  }
  return remaining;
}

/** Like `clear`, for snapshots. Snapshots are kept if pending volumes of other namespaces are restored from them. */
async function clearSnapshots(
  store: ObjectStore,
  within: Namespace,
): Promise<readonly Remaining[]> {
  const namespace = within.name;
  const { items } = await store.list(snapshots, { namespace });
  const remaining: Remaining[] = [];
  for (const { name } of items) {
    const left = await runTxn(store, async (txn) => {
      const snapshot = await txn.get(snapshots, { namespace, name });
      if (!snapshot) return undefined;
      const report = { kind: snapshots.kind, name };
      if (!isDeleting(snapshot)) {
        if (!(await sameNamespace(txn, within))) return undefined;
        const value = `${namespace}/${name}`;
        const made = await txn.list(volumes, { index: 'sourceSnapshot', value });
        // Volumes of this namespace are deleted too.
        const elsewhere = made.filter((volume) => volume.namespace !== namespace);
        const message = snapshotObstacle(snapshot, elsewhere);
        if (message !== undefined) return { ...report, message, finalizing: false };
        txn.delete(snapshots, snapshot);
      }
      const stays = (snapshot.metadata.finalizers?.length ?? 0) > 0;
      return stays ? { ...report, message: messageOf(snapshot), finalizing: true } : undefined;
    });
    if (left) remaining.push(left);
  }
  return remaining;
}

/**
 * Requests the deletion of an object, and returns whether the object still exists then. Deletes nothing if the
 * namespace was recreated.
 */
async function requestDeletion<T extends ApiObject>(
  store: ObjectStore,
  kind: Kind<T>,
  item: T,
  within: Namespace,
): Promise<boolean> {
  const { resourceVersion, uid } = item.metadata;
  const { name, metadata } = within;
  const isSame = { uid: metadata.uid };
  try {
    await store.transact([
      { op: 'check', kind: namespaces, key: { name }, precondition: isSame },
      { op: 'delete', kind, key: keyOf(item), precondition: { uid, resourceVersion } },
    ]);
    return (item.metadata.finalizers?.length ?? 0) > 0;
  } catch (error) {
    if (hasCode(error, 'NotFound')) return error.resource?.kind === namespaces.kind;
    // It changed meanwhile, which queues the namespace again.
    if (hasCode(error, 'Aborted')) return true;
    throw error;
  }
}

/** The present state of the namespace that was read; undefined if it was deleted or recreated. */
export async function sameNamespace(
  txn: Transaction,
  { name, metadata }: Namespace,
): Promise<Namespace | undefined> {
  const current = await txn.get(namespaces, { name });
  return current?.metadata.uid === metadata.uid ? current : undefined;
}

/**
 * Takes the next step towards an empty namespace and returns the remaining objects. Workloads are deleted first,
 * because they use volumes and secrets; secrets after the objects whose deletion needs them; events last, so that
 * the process can be followed.
 */
export async function clearContent(
  store: ObjectStore,
  namespace: Namespace,
): Promise<readonly Remaining[]> {
  const steps: readonly (() => Promise<readonly Remaining[]>)[] = [
    async () => [
      ...(await clear(store, services, namespace)),
      ...(await clear(store, instances, namespace)),
    ],
    () => clearSnapshots(store, namespace),
    () => clear<Volume>(store, volumes, namespace, deletionObstacle),
    () => clear(store, secrets, namespace),
    () => clear(store, configmaps, namespace),
    () => clear(store, events, namespace),
  ];
  for (const step of steps) {
    const remaining = await step();
    if (remaining.length > 0) return remaining;
  }
  return [];
}

/**
 * Whether a namespace is empty, except for events. The commit fails if an object is created in it meanwhile. Events do
 * not count: they expire automatically, and each new event would be a conflict.
 */
export async function isEmpty(txn: Transaction, namespace: string): Promise<boolean> {
  const inside = { namespace, watching: 'generation' } as const;
  const lists = await Promise.all([
    txn.list(services, inside),
    txn.list(instances, inside),
    txn.list(snapshots, inside),
    txn.list(volumes, inside),
    txn.list(secrets, inside),
    txn.list(configmaps, inside),
  ]);
  return lists.every((list) => list.length === 0);
}
