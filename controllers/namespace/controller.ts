import {
  type ApiObject,
  type Clock,
  type Controller,
  done,
  findCondition,
  hasCode,
  isDeleting,
  type Logger,
  type Manager,
  newController,
  type ObjectKey,
  type ObjectStore,
  type Random,
  type ReconcileContext,
  requeueAfter,
  type Result,
  timestamp,
  type Transaction,
} from 'kedge';
import { instances } from '../instance/kind.js';
import { services } from '../service/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { sourceSnapshot, volumes } from '../volume/kind.js';
import { type Namespace, namespaces } from './kind.js';
import { backoffOf, type ControllerPolicy } from '../policy/policy.js';
import { type NewCondition, setCondition } from '../reasons/index.js';
import { builtinNamespaces, namespaceFinalizer } from './admission.js';
import { clearContent, isEmpty, type Remaining, sameNamespace } from './content.js';
import { objectRemains } from '../messages/namespaces.js';

/** Dependencies of the namespace controller. */
export interface NamespaceControllerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

/** Maximum number of objects that the condition names. */
const namedMax = 3;

/** The condition with the remaining content of a namespace in deletion. */
function remainingCondition(remaining: readonly Remaining[]): NewCondition {
  const type = 'ContentRemaining';
  if (remaining.length === 0)
    return { type, status: 'False', reason: 'Empty', message: 'the namespace is empty' };
  // Objects that need an operator come first.
  const sorted = [...remaining].sort((a, b) => Number(a.finalizing) - Number(b.finalizing));
  const named = sorted
    .slice(0, namedMax)
    .map((one) => (one.finalizing ? `${objectRemains.format(one)} ${one.message}` : one.message));
  const more = remaining.length - named.length;
  return {
    type,
    status: 'True',
    reason: sorted[0]?.finalizing === true ? 'Finalizing' : 'InUse',
    message: `waits for the deletion of its objects: ${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}`,
  };
}

class NamespaceReconciler {
  readonly #options: NamespaceControllerOptions;

  constructor(options: NamespaceControllerOptions) {
    this.#options = options;
  }

  async reconcile(context: ReconcileContext): Promise<Result> {
    const { store, policy } = this.#options;
    const namespace = await store.get(namespaces, context.key);
    if (!namespace || !isDeleting(namespace)) return done();
    if (namespace.status !== 'Terminating')
      await context.txn(async (txn) => {
        if (await sameNamespace(txn, namespace))
          txn.updateStatus(namespaces, context.key, { status: 'Terminating' });
      });
    const remaining = await clearContent(store, namespace);
    return context.txn(async (txn) => {
      const current = await sameNamespace(txn, namespace);
      if (!current) return done();
      if (remaining.length > 0) {
        this.#note(txn, current, remainingCondition(remaining));
        // Changes of services, instances, snapshots and volumes queue their namespace; this is an additional check.
        return requeueAfter(policy.namespaceRecheckMs);
      }
      if (!(await isEmpty(txn, namespace.name))) return requeueAfter(0);
      const held = current.metadata.finalizers ?? [];
      const finalizers = held.filter((other) => other !== namespaceFinalizer);
      if (finalizers.length < held.length)
        txn.update(namespaces, { ...current, metadata: { ...current.metadata, finalizers } });
      return done();
    });
  }

  #note(txn: Transaction, namespace: Namespace, condition: NewCondition): void {
    const before = findCondition(namespace.conditions, condition.type);
    if (before?.reason === condition.reason && before.message === condition.message) return;
    const now = timestamp(this.#options.clock);
    const conditions = setCondition(namespace.conditions, condition, now);
    txn.updateStatus(namespaces, { name: namespace.name }, { conditions });
  }
}

/** Empties namespaces in deletion, and reports the remaining content in their condition. */
export function namespaceController(options: NamespaceControllerOptions): Controller {
  const { manager } = options;
  const reconciler = new NamespaceReconciler(options);
  const informer = manager.informer(namespaces);
  const terminating = ({ namespace = '' }: ApiObject): readonly ObjectKey[] => {
    const found = informer.lister.get(namespace);
    return found && isDeleting(found) ? [{ name: namespace }] : [];
  };
  return (
    newController({
      ...manager.ports,
      name: 'namespace',
      store: options.store,
      reconcile: (context) => reconciler.reconcile(context),
      backoff: backoffOf(options.policy, 'object'),
    })
      .for(informer)
      .watches(manager.informer(services), terminating)
      .watches(manager.informer(instances), terminating)
      .watches(manager.informer(snapshots), terminating)
      // A pending volume may keep its source snapshot of another namespace.
      .watches(manager.informer(volumes), (volume) => [
        ...terminating(volume),
        ...terminating({ ...volume, namespace: sourceSnapshot(volume)?.namespace ?? '' }),
      ])
  );
}

/** Writes the namespaces that every cluster has. Idempotent. */
export async function seedNamespaces(store: ObjectStore): Promise<void> {
  for (const name of builtinNamespaces) {
    try {
      await store.create(namespaces, { name, metadata: { finalizers: [namespaceFinalizer] } });
    } catch (error) {
      if (!hasCode(error, 'AlreadyExists')) throw error;
    }
  }
}
