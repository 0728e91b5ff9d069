import {
  type Clock,
  type Controller,
  done,
  findCondition,
  isDeleting,
  type Manager,
  newController,
  type ObjectKey,
  type ObjectStore,
  parseKey,
  type ReconcileContext,
  requeueAfter,
  type Result,
  timestamp,
  type Transaction,
} from 'kedge';
import { type Node, nodes } from '../node/kind.js';
import { type Volume, volumes } from '../volume/kind.js';
import { attachmentChanges } from '../volume/index.js';
import { type Instance, instances } from './kind.js';
import { GoneNodes } from '../node/gone-nodes.js';
import { silentReason } from '../node/controller.js';
import { backoffOf, type ControllerPolicy } from '../policy/policy.js';
import { mountedVolumes } from '../references/claim.js';
import { type Reason, setCondition } from '../reasons/index.js';
import { agentFinalizer } from './admission.js';
import { nodesDeleted } from '../messages/nodes.js';
import { volumeLabel } from '../messages/storage.js';

/** Dependencies of the instance controller. */
export interface InstanceControllerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly clock: Clock;
  readonly policy: ControllerPolicy;
}

interface Report {
  readonly status?: 'Unknown';
  readonly reason: Reason;
  readonly message: string;
}

/**
 * Returns the report on an instance whose node is silent, or is stopped while the instance is being deleted; otherwise
 * undefined.
 */
function awayReport(node: Node, deleting: boolean): Report | undefined {
  if (node.status === 'Ready') return undefined;
  const ready = findCondition(node.conditions, 'Ready');
  const waits = deleting ? 'its deletion waits for' : 'is on';
  if (ready?.reason === silentReason)
    return {
      status: 'Unknown',
      reason: silentReason,
      message: `${waits} node ${node.name}, which ${ready.message}`,
    };
  if (!deleting) return undefined;
  return {
    reason: 'NodeStopped',
    message: `${waits} node ${node.name}, whose agent was stopped; start kedged on it. If the node is gone permanently: kedge delete node ${node.name}`,
  };
}

/**
 * Returns a volume that the instance still has on a node; undefined if there is none. The commit fails if the
 * attachments of a volume change meanwhile.
 */
async function heldOn(
  txn: Transaction,
  instance: Instance,
  node: string,
): Promise<Volume | undefined> {
  const claim = `${instance.namespace}/${instance.name}`;
  for (const key of mountedVolumes(instance)) {
    const volume = await txn.get(volumes, parseKey(key), { watching: ['attachments'] });
    if (volume?.attachments?.some((a) => a.claim === claim && a.node === node)) return volume;
  }
  return undefined;
}

class InstanceReconciler {
  readonly #options: InstanceControllerOptions;
  readonly #gone: GoneNodes;

  constructor(options: InstanceControllerOptions, gone: GoneNodes) {
    this.#options = options;
    this.#gone = gone;
  }

  async reconcile(context: ReconcileContext): Promise<Result> {
    const instance = await this.#options.store.get(instances, context.key);
    if (!instance || instance.node === undefined) return done();
    const node = this.#options.manager.informer(nodes).lister.get(instance.node);
    if (node) return this.#report(context, instance, awayReport(node, isDeleting(instance)));
    const { gone, leftMs } = this.#gone.among([instance.node]);
    if (gone.length > 0) return this.#handleDeletedNode(context, instance, instance.node);
    return leftMs === undefined ? done() : requeueAfter(leftMs);
  }

  #report(
    context: ReconcileContext,
    { metadata }: Instance,
    report: Report | undefined,
  ): Promise<Result> {
    if (!report) return Promise.resolve(done());
    const { status, reason, message } = report;
    return context.txn(async (txn) => {
      const current = await txn.get(instances, context.key);
      if (current?.metadata.uid !== metadata.uid) return done();
      const before = findCondition(current.conditions, 'Ready');
      if (before?.reason === reason && before.message === message) return done();
      txn.updateStatus(instances, context.key, {
        ...(status ? { status } : {}),
        ...this.#notReady(current, reason, message),
      });
      return done();
    });
  }

  /**
   * Handles an instance of a deleted node, which can't stop it. The service recreates it on another node once the
   * volume controller has detached its volumes.
   */
  #handleDeletedNode(
    context: ReconcileContext,
    { metadata }: Instance,
    nodeName: string,
  ): Promise<Result> {
    return context.txn(async (txn) => {
      const current = await txn.get(instances, context.key);
      if (current?.metadata.uid !== metadata.uid) return done();
      if (await txn.get(nodes, { name: nodeName }, { watching: 'generation' })) return done();
      if (!isDeleting(current)) {
        txn.delete(instances, current);
        return requeueAfter(0);
      }
      const finalizers = current.metadata.finalizers ?? [];
      if (!finalizers.includes(agentFinalizer)) return done();
      const held = await heldOn(txn, current, nodeName);
      if (held) {
        const label = volumeLabel.format({ volume: `${held.namespace}/${held.name}` });
        const message = `${nodesDeleted.format({ nodes: [nodeName] })}; the instance waits until ${label} is detached from it: kedge volume explain ${held.name} -n ${held.namespace}`;
        const before = findCondition(current.conditions, 'Ready');
        if (before?.message !== message)
          txn.updateStatus(instances, context.key, this.#notReady(current, 'NodeGone', message));
        return done();
      }
      const left = finalizers.filter((other) => other !== agentFinalizer);
      txn.update(instances, { ...current, metadata: { ...current.metadata, finalizers: left } });
      return done();
    });
  }

  #notReady(
    { conditions }: Instance,
    reason: Reason,
    message: string,
  ): Pick<Instance, 'conditions'> {
    const condition = { type: 'Ready', status: 'False', reason, message } as const;
    return { conditions: setCondition(conditions, condition, timestamp(this.#options.clock)) };
  }
}

/** The instance controller: handles instances whose node is silent, stopped or deleted. */
export function instanceController(options: InstanceControllerOptions): Controller {
  const { manager, clock, policy } = options;
  const informer = manager.informer(instances);
  informer.addIndex('onNode', ({ node }) => (node === undefined ? [] : [node]));
  const gone = new GoneNodes(manager.informer(nodes).lister, clock, policy);
  const reconciler = new InstanceReconciler(options, gone);
  const keys = (found: readonly Instance[]): readonly ObjectKey[] =>
    found.map(({ namespace, name }) => ({ namespace, name }));
  return newController({
    ...manager.ports,
    name: 'instance',
    store: options.store,
    reconcile: (context) => reconciler.reconcile(context),
    backoff: backoffOf(policy, 'object'),
  })
    .for(informer)
    .watches(
      manager.informer(nodes),
      (node) => {
        gone.seen(node.name);
        return keys(informer.lister.byIndex('onNode', node.name));
      },
      // Heartbeats are not relevant.
      (before, node) => before.status !== node.status,
    )
    .watches(manager.informer(volumes), (volume, other) => {
      const { attachments = [] } = volume;
      const claims = other
        ? attachmentChanges(volume, other).claims
        : attachments.map(({ claim }) => claim);
      return claims.map((claim) => {
        const [namespace = '', name = ''] = claim.split('/');
        return { namespace, name };
      });
    });
}
