import {
  done,
  isDeleting,
  keyString,
  type ReconcileContext,
  requeueAfter,
  type Result,
} from 'kedge';
import { type DriverError, errorClasses, type Pending } from '@kedge/driver-sdk';
import { snapshots } from '../../snapshot/kind.js';
import { sourceSnapshot, type Volume, type VolumeStatus, volumes } from '../kind.js';
import { volumeFinalizer } from '../admission.js';
import {
  beforeDeletion,
  deletionOf,
  isDeletionAsked,
  isDeletionRefused,
  isEarlierCallOpen,
  startedOutcome,
  startOfDeletion,
} from '../states/deletion-report.js';
import { type EarlierAttempt, isParametersRefusal } from './earlier-attempt.js';
import { keyOfVolume, type PreparedCall, type VolumeEffects } from './effects.js';
import { deletedCondition, type Waits } from '../../provisioned/conditions.js';
import { hasNoCredential, isRefused } from '../../provisioned/failure.js';
import { abandonedVolume } from '../../messages/abandoned-deletion.js';
import { releaseInFlight } from '../../provisioned/in-flight.js';
import { driverErrorOf } from '../../provisioned/retries.js';
import { deleteUnused, deletionWaitsFor, sourceValue } from '../rules/in-use.js';
import { effectOf, hasOpenCall, releaseObject } from '../../provisioned/operations.js';
import { nextPhase } from '../states/phases.js';
import type { ReclaimedFrom, VolumeAction, VolumeSituation } from '../states/plan.js';
import {
  isParametersRefused,
  isRetained,
  leftWith,
  mayStillDelete,
  messageWithRemedy,
  type Refusal,
} from './refusal.js';

/** A failed deletion call. */
interface FailedDeletion {
  readonly thrown: unknown;
  readonly startedAt: string;
  /** Whether a call of an earlier run may still delete the data. */
  readonly isOpen: boolean;
  /**
   * Present if the driver refused its parameters, or as in {@link leftWith}. Other errors may be from before its call.
   */
  readonly refusal: Refusal | undefined;
}

/** The status field of a snapshot that lists the volumes that are being restored from it. */
export const beingRestored = { kind: snapshots, field: 'restoresInFlight' } as const;

/** Deletion: V23 to V25. */
export class Reclaim {
  readonly #effects: VolumeEffects;
  readonly #earlier: EarlierAttempt;
  constructor(effects: VolumeEffects, earlier: EarlierAttempt) {
    this.#effects = effects;
    this.#earlier = earlier;
  }

  /**
   * V23, V24: calls the driver until the data is deleted; then removes the finalizer, or reports the deletion if this
   * is the part of a node. Without a deletion request of the object, requests it. No snapshot can start meanwhile: it
   * would need a version of the volume from before the deletion request.
   */
  async reclaim(
    situation: VolumeSituation,
    from: ReclaimedFrom,
    request: ReconcileContext,
  ): Promise<Result> {
    const { volume } = situation;
    // V23 for an owned volume whose service was deleted: deletes the object with its data.
    if (!isDeleting(volume)) return this.#requestUnused(volume, request);
    const begun = await this.#begin(situation, request);
    // A node does not request deletions itself.
    if (!begun) return this.#effects.part === 'node' ? done() : requeueAfter(0);
    let refusal: Refusal | undefined;
    const isOpen = isEarlierCallOpen(volume);
    const startedAt = startOfDeletion(begun.volume, this.#effects.now);
    try {
      const prepared = await this.#effects.begin(request, begun);
      const { operations } = prepared.context;
      const answer = await this.#delete(begun, prepared, request.signal);
      if (answer !== undefined && 'error' in answer) {
        refusal = answer;
        const isHere = this.#effects.part === 'cluster';
        if (!isHere || !(await isRetained(begun, operations))) throw refusal.error;
        this.#reportRetained(volume, refusal.error.message);
      } else if (answer !== undefined)
        return await this.#effects.reportInProgress(request, begun.volume, 'delete', answer);
    } catch (thrown) {
      return this.#failed(begun, from, { thrown, startedAt, isOpen, refusal }, request);
    }
    if (this.#effects.part === 'node') return this.#effects.reportDeletion(request, begun.volume);
    return this.release(begun.volume, request);
  }

  /**
   * Deletes the data. If the driver refuses the parameters of the attempt of a volume without a handle, nothing is
   * where they say: the data would be where the class says now. That does not hold once something was found there, or if
   * a creation there may have made something.
   * @returns the refusal if the driver refuses the parameters of all calls, or as in {@link leftWith}; undefined once
   * the data is deleted
   */
  async #delete(
    situation: VolumeSituation,
    { driver, context }: PreparedCall,
    signal: AbortSignal,
  ): Promise<undefined | Pending | Refusal> {
    const handle = situation.volume.handle || undefined;
    let error: DriverError;
    try {
      return (await driver.delete({ ...context, handle })) ?? undefined;
    } catch (thrown) {
      const left = await leftWith(situation.volume, thrown, context.operations);
      if (left) return { error: left, isElsewhere: false };
      if (!isParametersRefusal(thrown)) throw thrown;
      error = thrown;
    }
    const present = handle ? undefined : await this.#earlier.presentCall(situation, signal);
    if (!present) return { error, isElsewhere: false };
    if (await hasOpenCall({ handle }, context.operations)) return { error, isElsewhere: true };
    try {
      return (await present.driver.delete({ ...present.context, handle })) ?? undefined;
    } catch (thrown) {
      if (!isParametersRefusal(thrown)) throw thrown;
      return { error: thrown, isElsewhere: false };
    }
  }

  /**
   * Removes a volume whose node refused the parameters of its deletion, if the reclaim policy permits a removal without
   * one. A node knows neither the policy nor the class. Undefined if the volume stays.
   */
  async releaseRefused(
    situation: VolumeSituation,
    { type }: VolumeAction,
    { home }: Waits,
    request: ReconcileContext,
  ): Promise<Result | undefined> {
    const { volume } = situation;
    if (type !== 'reclaim' || home === undefined || !isParametersRefused(volume)) return undefined;
    if (!(await isRetained(situation, this.#effects.operations(volume, home)))) return undefined;
    this.#reportRetained(volume, volume.lastOperation?.message ?? '');
    return this.release(volume, request);
  }

  #reportRetained({ namespace, name }: Volume, error: string): void {
    this.#effects.options.logger.warn(
      'volume removed without a deletion: its driver refuses the parameters or the credential, or has none, and its reclaimPolicy is retain',
      { volume: `${namespace}/${name}`, error },
    );
  }

  /**
   * Records that a deletion call may be in progress, before the driver is called. The record locks the reclaim policy.
   * No-op if it exists already. The call follows in the same run, because a successful run between two calls would reset their backoff.
   * @returns the volume after the write; undefined if it was changed or replaced meanwhile
   */
  async #begin(
    situation: VolumeSituation,
    request: ReconcileContext,
  ): Promise<VolumeSituation | undefined> {
    const { volume } = situation;
    const now = this.#effects.now;
    const isRepeated = isDeletionAsked(volume) && isDeletionRefused(volume);
    if (isDeletionAsked(volume) && !isRepeated) return situation;
    const call = { call: 'delete', startedAt: now, message: '', nextTryAt: '' } as const;
    // Replaces the outcome of an earlier call, which is irrelevant for this one.
    const started =
      volume.lastOperation?.call === 'delete'
        ? { lastOperation: { ...call, outcome: startedOutcome } }
        : {};
    const asked = isRepeated ? {} : deletionOf(volume, now);
    await this.#effects.write(request, volume, { ...asked, ...started });
    const current = await this.#effects.options.store.get(volumes, keyOfVolume(volume));
    if (current?.metadata.uid !== volume.metadata.uid || !isDeletionAsked(current))
      return undefined;
    const seen = this.#effects.part === 'node' ? this.#effects.recalled(current) : current;
    return { ...situation, volume: seen };
  }

  /** Reports the blockers of a deletion. Their end queues the key. */
  async waitForUsers(volume: Volume, request: ReconcileContext): Promise<Result> {
    const of = { index: 'sourceVolume', value: sourceValue(volume) } as const;
    const { items } = await this.#effects.options.store.list(snapshots, of);
    const message = deletionWaitsFor(volume, items) ?? '';
    const waits = { type: deletedCondition, reason: 'InUse', message } as const;
    return this.#effects.waitFor(request, volume, waits);
  }

  /** Requests the deletion of an unused volume. Pending snapshots of it are created first; they queue this key. */
  async #requestUnused(volume: Volume, request: ReconcileContext): Promise<Result> {
    const obstacle = await deleteUnused(this.#effects.options.store, volume);
    if (obstacle === undefined) return done();
    const message = `its service was deleted, and its reclaimPolicy is delete: ${obstacle}`;
    return this.#effects.waitFor(request, volume, { type: 'Bound', reason: 'InUse', message });
  }

  /**
   * Requests the deletion of a volume without data in the version that was read, so that no snapshot of it can start.
   * @throws StatusError Aborted if it changed, NotFound if it was deleted
   */
  async requestDeletion(volume: Volume): Promise<Result> {
    const { resourceVersion } = volume.metadata;
    await this.#effects.options.store.delete(volumes, volume, { resourceVersion });
    return done();
  }

  async #failed(
    situation: VolumeSituation,
    from: ReclaimedFrom,
    { thrown, startedAt, isOpen, refusal }: FailedDeletion,
    request: ReconcileContext,
  ): Promise<Result> {
    const { volume } = situation;
    const failure = driverErrorOf(thrown);
    const { kind: outcome, message } = failure;
    const answer = { outcome, message };
    if (this.#effects.isAbandoned(volume, failure)) {
      const left = { volume: keyString(volume), handle: volume.handle ?? '', error: message };
      this.#effects.options.logger.warn(abandonedVolume, left);
      return this.release(volume, request);
    }
    const operations = this.#effects.operations(volume, this.#effects.options.node);
    const isLocked =
      isRefused(answer) && (await mayStillDelete(volume, isOpen, answer, operations));
    return this.#effects.retried(
      request,
      volume,
      { call: 'delete', startedAt },
      thrown,
      (error, report) => {
        const isReported = errorClasses[error.kind] === 'final' || from === 'Failed';
        return {
          reason: error.kind,
          ...(isLocked ? this.#stillOpen(volume, report) : {}),
          ...(isReported
            ? {
                status: nextPhase(from, 'deleteFailed'),
                // The policy is locked until there is a credential.
                failureMessage:
                  isLocked && hasNoCredential(answer)
                    ? error.message
                    : messageWithRemedy(situation, error, refusal),
              }
            : {}),
        };
      },
    );
  }

  /**
   * The status after a refusal that does not end the deletion. A node does not request deletions, but reports the time
   * of its call.
   */
  #stillOpen(volume: Volume, report: Pick<Volume, 'lastOperation'>): VolumeStatus {
    if (this.#effects.part === 'cluster')
      return deletionOf({ ...volume, ...report }, this.#effects.now);
    const { lastOperation } = report;
    return lastOperation
      ? { lastOperation: { ...lastOperation, startedAt: beforeDeletion(volume) } }
      : {};
  }

  /** V25: deletes the object, keeps its data. A deletion in progress is completed first. */
  async forget(
    situation: VolumeSituation,
    from: 'Pending' | ReclaimedFrom,
    request: ReconcileContext,
  ): Promise<Result> {
    const { volume } = situation;
    const operations = request.operations(volumes, volume);
    if (from !== 'Pending' && (await operations.get(effectOf('delete'))))
      return this.reclaim(situation, from, request);
    return this.release(volume, request);
  }

  /**
   * Removes the finalizer, and with it the object and its records, after releasing its source snapshot. Other
   * driver operations are irrelevant: the volume is unused and its state at the provider is known.
   */
  async release(volume: Volume, request: ReconcileContext): Promise<Result> {
    await this.releaseSource(volume, request);
    return releaseObject(request, volumes, volume, volumeFinalizer);
  }

  /** Releases the source snapshot of a volume. Idempotent. */
  async releaseSource(volume: Volume, request: ReconcileContext): Promise<void> {
    const key = sourceSnapshot(volume);
    if (!key) return;
    const { lister } = this.#effects.options.manager.informer(snapshots);
    await releaseInFlight(request, beingRestored, lister.get(keyString(key)), volume.metadata.uid);
  }
}
