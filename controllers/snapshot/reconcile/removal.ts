import {
  done,
  isDeleting,
  keyString,
  type ReconcileContext,
  requeueAfter,
  type Result,
} from 'kedge';
import { type DriverErrorKind, errorClasses, isPending } from '@kedge/driver-sdk';
import { hasNoCredential, isAboutCaller } from '../../provisioned/failure.js';
import { hasOpenDeletion, releaseObject } from '../../provisioned/operations.js';
import { driverErrorOf } from '../../provisioned/retries.js';
import { snapshotFinalizer } from '../admission.js';
import { mayBeGoing, startedAgain, startOfDeletion, stillOpen } from '../deletion-report.js';
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
    const isGoing = mayBeGoing(snapshot);
    await this.#effects.write(request, snapshot, {
      status,
      reason: 'Deleting',
      failureMessage: '',
      ...startedAgain(snapshot),
    });
    const begun = await this.#effects.options.store.get(snapshots, keyOfSnapshot(snapshot));
    if (begun?.status !== 'Deleting' || this.#effects.callingProcess(snapshot).type !== 'here')
      return requeueAfter(0);
    return this.#delete(begun, isGoing, request);
  }

  /**
   * S11, S12: deletes the snapshot at its provider, then removes its finalizer; the node part reports the deletion
   * instead. Errors of the driver are reported and retried. In the cluster part, a final error also makes the snapshot
   * Failed.
   */
  async delete({ snapshot }: SnapshotSituation, request: ReconcileContext): Promise<Result> {
    if (!isDeleting(snapshot)) return done();
    const isGoing = mayBeGoing(snapshot);
    const started = startedAgain(snapshot);
    if (!started) return this.#delete(snapshot, isGoing, request);
    await this.#effects.write(request, snapshot, started);
    const begun = await this.#effects.options.store.get(snapshots, keyOfSnapshot(snapshot));
    if (begun?.metadata.uid !== snapshot.metadata.uid) return requeueAfter(0);
    return this.#delete(begun, isGoing, request);
  }

  /** @param isGoing whether a call of an earlier run may still delete the copy */
  async #delete(snapshot: Snapshot, isGoing: boolean, request: ReconcileContext): Promise<Result> {
    const startedAt = startOfDeletion(snapshot, this.#effects.now);
    try {
      const prepared = await this.#effects.begin(snapshot, request);
      const answer = await prepared.driver.deleteSnapshot(prepared.request);
      if (isPending(answer)) {
        return await this.#effects.reportInProgress(request, snapshot, 'deleteSnapshot', answer);
      }
    } catch (thrown) {
      const call = { call: 'deleteSnapshot', startedAt };
      const failure = driverErrorOf(thrown);
      const { kind: outcome, message: text } = failure;
      const answer = { outcome, message: text };
      if (this.#effects.isAbandoned(snapshot, failure)) {
        this.#effects.options.logger.warn(
          'snapshot removed by its annotation, although the end of its deletion is not known: the copy may be at the provider',
          { snapshot: keyString(snapshot), handle: snapshot.handle ?? '', error: text },
        );
        return this.forget(snapshot, request);
      }
      const operations = this.#effects.operations(snapshot);
      const isOpen =
        (isGoing && hasNoCredential(answer)) ||
        (isAboutCaller(answer) && (await hasOpenDeletion(operations)));
      return this.#effects.retried(
        request,
        snapshot,
        call,
        thrown,
        ({ kind, message }, report) => ({
          reason: kind,
          ...(isOpen ? stillOpen(snapshot, report.lastOperation) : {}),
          // Not in the node part: the cluster part would request the deletion of a Failed snapshot again, without
          // backoff.
          ...(errorClasses[kind] === 'final' && this.#effects.part === 'cluster'
            ? {
                status: nextPhase('Deleting', 'deleteFailed'),
                // The policy is no remedy while an earlier call may be deleting the copy.
                failureMessage: isOpen ? message : messageWithRemedy(kind, message),
              }
            : {}),
        }),
      );
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
