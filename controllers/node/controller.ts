import {
  type Clock,
  type Controller,
  done,
  type Manager,
  newController,
  type ObjectStore,
  type ReconcileContext,
  requeueAfter,
  type Result,
  timestamp,
} from 'kedge';
import { type Node, nodes } from './kind.js';
import { backoffOf, type ControllerPolicy } from '../policy/policy.js';
import { setCondition } from '../reasons/index.js';

/** Dependencies of the node controller. */
export interface NodeControllerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly clock: Clock;
  readonly policy: ControllerPolicy;
}

/** Reason of a node without heartbeats, and of its instances. */
export const silentReason = 'NodeSilent';

interface Heartbeat {
  /** Uid of the node, because the heartbeat of a deleted node does not count for a recreated one. */
  readonly uid: string;
  readonly at: string;
  /** Monotonic milliseconds of this process, since clocks of machines differ. */
  readonly seenAt: number;
}

class NodeReconciler {
  readonly #options: NodeControllerOptions;
  readonly #last = new Map<string, Heartbeat>();

  constructor(options: NodeControllerOptions) {
    this.#options = options;
  }

  async reconcile(context: ReconcileContext): Promise<Result> {
    const { clock, policy, store } = this.#options;
    const { name } = context.key;
    const node = await store.get(nodes, { name });
    if (!node || node.status !== 'Ready') {
      this.#last.delete(name);
      return done();
    }
    const now = clock.monotonic();
    const at = node.lastHeartbeatAt ?? '';
    const { uid } = node.metadata;
    let last = this.#last.get(name);
    // A store that is full, or whose write failed, refuses heartbeats too: the silence begins once it accepts them.
    const isRefusing = store.health().state !== 'serving';
    if (last?.at !== at || last.uid !== uid || isRefusing) {
      last = { uid, at, seenAt: now };
      this.#last.set(name, last);
    }
    const leftMs = last.seenAt + policy.nodeSilentMs - now;
    if (leftMs <= 0) return this.#silent(node, context);
    // At the interval of heartbeats, so that a short time in which the store refuses writes is noticed.
    return requeueAfter(Math.min(leftMs, policy.heartbeatMs));
  }

  #silent(node: Node, context: ReconcileContext): Promise<Result> {
    const { name, metadata, lastHeartbeatAt = '' } = node;
    const since = lastHeartbeatAt === '' ? 'it became Ready' : lastHeartbeatAt;
    const message = `has sent no heartbeat since ${since}; start kedged on it. If the node is gone permanently, make sure that it is powered off, then: kedge delete node ${name}`;
    return context.txn(async (txn) => {
      const current = await txn.get(nodes, { name });
      const spoke = (current?.lastHeartbeatAt ?? '') !== lastHeartbeatAt;
      if (current?.metadata.uid !== metadata.uid || spoke) return done();
      const condition = {
        type: 'Ready',
        status: 'Unknown',
        reason: silentReason,
        message,
      } as const;
      txn.updateStatus(
        nodes,
        { name },
        {
          status: 'NotReady',
          conditions: setCondition(current.conditions, condition, timestamp(this.#options.clock)),
        },
      );
      return done();
    });
  }
}

/** The node controller: marks nodes without heartbeats as not ready. */
export function nodeController(options: NodeControllerOptions): Controller {
  const { manager } = options;
  const reconciler = new NodeReconciler(options);
  return newController({
    ...manager.ports,
    name: 'node',
    store: options.store,
    reconcile: (context) => reconciler.reconcile(context),
    backoff: backoffOf(options.policy, 'object'),
  }).for(manager.informer(nodes));
}
