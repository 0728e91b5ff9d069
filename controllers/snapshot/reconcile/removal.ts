import { done, isDeleting, type ReconcileContext, requeueAfter, type Result } from 'kedge';
import { type DriverErrorKind, errorClasses, isPending } from '@kedge/driver-sdk';
import { releaseObject } from '../../provisioned/operations.js';
import { snapshotFinalizer } from '../admission.js';
import { keyOfSnapshot, type SnapshotEffects } from './effects.js';
import { type Snapshot, snapshots } from '../kind.js';
import { nextPhase, type NextSnapshotPhase } from '../phases.js';
import type { SnapshotSituation } from '../plan.js';

/** Deletion: S8, S10 to S12 and S14. */
export class Removal {
  readonly #effects: SnapshotEffects;

  constructor(effects: SnapshotEffects) {
    this.#effects = effects;
  }

  /**
   * S8, S10: writes the phase and calls the driver in the same run, because a successful run between two calls would
   * reset their backoff.
   */
  async start(
    situation: SnapshotSituation,
    status: NextSnapshotPhase,
    request: ReconcileContext,
  ): Promise<Result> {
    const { snapshot } = situation;
    await this.#effects.write(request, snapshot, {
      status,
      reason: 'Deleting',
      failureMessage: '',
    });
    const begun = await this.#effects.options.store.get(snapshots, keyOfSnapshot(snapshot));
    if (begun?.status !== 'Deleting' || this.#effects.callingProcess(snapshot).type !== 'here')
      return requeueAfter(0);
    return this.delete({ ...situation, snapshot: begun }, request);
  }

  /**
   * S11, S12: deletes the snapshot at its provider, then removes its finalizer; the node part reports the deletion
   * instead. Errors of the driver are reported and retried. In the cluster part, a final error also makes the snapshot
   * Failed.
   */
  async delete(situation: SnapshotSituation, request: ReconcileContext): Promise<Result> {
    const { snapshot } = situation;
    if (!isDeleting(snapshot)) return done();
    const startedAt = this.#effects.now;
    try {
      const prepared = await this.#effects.begin(snapshot, request);
      const answer = await prepared.driver.deleteSnapshot(prepared.request);
      if (isPending(answer)) {
        return await this.#effects.reportInProgress(request, snapshot, 'deleteSnapshot', answer);
      }
    } catch (thrown) {
      const call = { call: 'deleteSnapshot', startedAt };
      return this.#effects.retried(request, snapshot, call, thrown, ({ kind, message }) => ({
        reason: kind,
        // Not in the node part: the cluster part would request the deletion of a Failed snapshot again, without
        // backoff.
        ...(errorClasses[kind] === 'final' && this.#effects.part === 'cluster'
          ? {
              status: nextPhase('Deleting', 'deleteFailed'),
              failureMessage: messageWithRemedy(kind, message),
            }
          : {}),
      }));
    }
    if (this.#effects.part === 'node') return this.#effects.reportDeletion(request, snapshot);
    return this.forget(snapshot, request);
  }

  forget(snapshot: Snapshot, request: ReconcileContext): Promise<Result> {
    return releaseObject(request, snapshots, snapshot, snapshotFinalizer);
  }
}

/** The message of a failed deletion, with the remedy that ends it if nothing is corrected. */
function messageWithRemedy(kind: DriverErrorKind, message: string): string {
  if (kind !== 'InvalidParameters') return message;
  return `${message}; or set reclaimPolicy to retain to remove the object without a deletion`;
}
