import {
  done,
  findCondition,
  keyString,
  type ReconcileContext,
  requeueAfter,
  type Result,
} from 'kedge';
import { nodes } from '../../node/kind.js';
import { volumes } from '../../volume/kind.js';
import { type Snapshot, snapshots } from '../kind.js';
import type { GoneNodes } from '../../node/gone-nodes.js';
import {
  deletedCondition,
  isNewWait,
  type Waits,
  waitsReason,
} from '../../provisioned/conditions.js';
import { releaseInFlight } from '../../provisioned/in-flight.js';
import { releaseObject } from '../../provisioned/operations.js';
import { snapshotFinalizer } from '../admission.js';
import { beingCopied, type SnapshotEffects } from './effects.js';
import { nextPhase } from '../phases.js';
import type { SnapshotAction, SnapshotSituation } from '../plan.js';
import { sourceNodeDeleted } from '../../messages/nodes.js';

/** Whether an action on a snapshot is a driver call. */
function callsDriver({ type }: SnapshotAction): boolean {
  return type === 'create' || type === 'probe' || type === 'delete';
}

/** Decides for each action whether another process must call the driver, and reports the wait for it. */
export class Handover {
  readonly #effects: SnapshotEffects;
  readonly #gone: GoneNodes;

  constructor(effects: SnapshotEffects, gone: GoneNodes) {
    this.#effects = effects;
    this.#gone = gone;
  }

  /** Whether the node's part must execute the action. */
  isAsked(snapshot: Snapshot, action: SnapshotAction): boolean {
    if (this.#effects.callingProcess(snapshot).type !== 'here') return false;
    if (action.type === 'delete') return snapshot.status === 'Deleting';
    return action.type === 'none' || callsDriver(action);
  }

  /** The wait for another process, which must make the driver call; undefined if this process continues. */
  waitsFor({ snapshot, source }: SnapshotSituation, action: SnapshotAction): Waits | undefined {
    const of = action.type === 'start' ? source : callsDriver(action) ? snapshot : undefined;
    const caller = of && this.#effects.callingProcess(of);
    // A snapshot of a volume on another node is created there, once its intent is stored.
    const isIntent =
      action.type === 'start' && caller?.type === 'waits' && caller.home !== undefined;
    return caller?.type === 'waits' && !isIntent ? caller : undefined;
  }

  /**
   * Reports the awaited node. A change of snapshot, source or node queues the key. If the node was deleted, the
   * snapshot fails or is removed instead.
   */
  async wait(
    situation: SnapshotSituation,
    action: SnapshotAction,
    waits: Waits,
    request: ReconcileContext,
  ): Promise<Result> {
    // Probes are not handed over.
    if (action.type === 'probe') return done();
    const { home } = waits;
    if (home === undefined) return this.#report(situation, action, waits, request);
    const { gone, leftMs } = this.#gone.among([home]);
    if (gone.length > 0) return this.#withoutNode(situation, action, home, request);
    const report = await this.#report(situation, action, waits, request);
    return leftMs === undefined ? report : requeueAfter(leftMs);
  }

  /** S6, S11: without its node the snapshot can't be completed, and its data is unreachable. */
  async #withoutNode(
    { snapshot, source, inputs }: SnapshotSituation,
    { type }: SnapshotAction,
    home: string,
    request: ReconcileContext,
  ): Promise<Result> {
    const { store, logger } = this.#effects.options;
    if (await store.get(nodes, { name: home })) return requeueAfter(0);
    const { namespace, name } = snapshot;
    if (type === 'delete') {
      const label = `${namespace}/${name}`;
      logger.warn(
        'the snapshot is removed without deletion of its data, because its node was deleted',
        {
          snapshot: label,
          home,
        },
      );
      return releaseObject(request, snapshots, snapshot, snapshotFinalizer);
    }
    const message = sourceNodeDeleted.format({ node: home });
    const remedy = `start kedged on that machine again, then: kedge snapshot retry ${name} -n ${namespace}; or delete this snapshot`;
    const failureMessage = `${message}; ${remedy}`;
    await this.#effects.settle(request, snapshot, source, {
      status: nextPhase('Creating', 'failedForGood'),
      reason: 'NodeGone',
      failureMessage,
      failedWith: inputs,
      ...this.#effects.made(snapshot, 'False', 'NodeGone', failureMessage),
    });
    return requeueAfter(0);
  }

  async #report(
    { snapshot }: SnapshotSituation,
    action: SnapshotAction,
    { message, ready }: Waits,
    request: ReconcileContext,
  ): Promise<Result> {
    const type = action.type === 'delete' ? deletedCondition : 'Ready';
    if (!isNewWait(findCondition(snapshot.conditions, type), 'False', { message, ready }))
      return done();
    const report = this.#effects.condition(snapshot, type, 'False', waitsReason, message);
    await this.#effects.write(request, snapshot, report);
    return done();
  }

  /** Releases the source, after its node finished the copy. */
  async releaseSource(snapshot: Snapshot, request: ReconcileContext): Promise<void> {
    const { namespace, source, metadata } = snapshot;
    const { lister } = this.#effects.options.manager.informer(volumes);
    const shown = lister.get(keyString({ namespace, name: source.volume }));
    await releaseInFlight(request, beingCopied, shown, metadata.uid);
  }
}
