import {
  type ApiObject,
  type Clock,
  type Controller,
  done,
  hasCode,
  isDeleting,
  type Kind,
  type Logger,
  type Manager,
  newController,
  type ObjectStore,
  type Random,
  removeFinalizer,
  type Request,
  requeueAfter,
  type Result,
} from 'kedge';
import {
  configmaps,
  events,
  instances,
  namespaces,
  secrets,
  services,
  snapshots,
  volumes,
} from '../kinds/index.js';
import { builtinNamespaces, namespaceFinalizer } from './admission.js';

/** Ports of the namespace controller. */
export interface NamespaceControllerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** While content finalizes, look again this often. */
const recheckMs = 500;

/** Deletes the objects of a kind; gives how many were there. */
async function clear<T extends ApiObject>(
  store: ObjectStore,
  kind: Kind<T>,
  namespace: string,
): Promise<number> {
  const { items } = await store.list(kind, { namespace });
  for (const item of items) {
    if (isDeleting(item)) continue;
    try {
      await store.delete(kind, item);
    } catch (error) {
      if (!hasCode(error, 'NotFound') && !hasCode(error, 'Aborted')) throw error;
    }
  }
  return items.length;
}

async function reconcile(store: ObjectStore, request: Request): Promise<Result> {
  const namespace = await store.get(namespaces, request.key);
  if (!namespace || !isDeleting(namespace)) return done();
  const { uid } = namespace.metadata;
  if (namespace.status !== 'Terminating')
    await store.updateStatus(namespaces, request.key, { status: 'Terminating' }, { uid });
  // Workloads first: volumes and secrets are in use until they are gone.
  let left = await clear(store, services, namespace.name);
  left += (await store.list(instances, { namespace: namespace.name })).items.length;
  if (left === 0) left = await clear(store, snapshots, namespace.name);
  if (left === 0) left = await clear(store, volumes, namespace.name);
  if (left === 0) left = await clear(store, secrets, namespace.name);
  if (left === 0) left = await clear(store, configmaps, namespace.name);
  // Last: what happened to all of them can be read while they go.
  if (left === 0) left = await clear(store, events, namespace.name);
  if (left > 0) return requeueAfter(recheckMs);
  await removeFinalizer(store, namespaces, namespace, namespaceFinalizer);
  return done();
}

/** Empties namespaces that are being deleted. */
export function namespaceController(options: NamespaceControllerOptions): Controller {
  const { store, manager, clock, random, logger } = options;
  return newController({
    name: 'namespace',
    reconcile: (request) => reconcile(store, request),
    clock,
    random,
    logger,
  }).for(manager.informer(namespaces));
}

/** Writes the namespaces every installation has. Idempotent. */
export async function seedNamespaces(store: ObjectStore): Promise<void> {
  for (const name of builtinNamespaces) {
    try {
      await store.create(namespaces, { name, metadata: { finalizers: [namespaceFinalizer] } });
    } catch (error) {
      if (!hasCode(error, 'AlreadyExists')) throw error;
    }
  }
}
