import {
  done,
  isDeleting,
  keyString,
  type ReconcileContext,
  requeueAfter,
  type Result,
} from 'kedge';
import { DriverError, errorClasses, isPending, type Pending } from '@kedge/driver-sdk';
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
import { type EarlierAttempt, isCreationOpen } from './earlier-attempt.js';
import { keyOfVolume, type PreparedCall, type VolumeEffects } from './effects.js';
import { deletedCondition } from '../../provisioned/conditions.js';
import { isRefusal } from '../../provisioned/failure.js';
import { releaseInFlight } from '../../provisioned/in-flight.js';
import { deleteUnused, deletionWaitsFor, sourceValue } from '../rules/in-use.js';
import { effectOf, releaseObject } from '../../provisioned/operations.js';
import type { Part } from '../../provisioned/calling-process.js';
import { nextPhase } from '../states/phases.js';
import { effectivePolicy, type ReclaimedFrom, type VolumeSituation } from '../states/plan.js';
import { classMissing } from '../../messages/storage.js';

/** A failed deletion call. */
interface FailedDeletion {
  readonly thrown: unknown;
  readonly startedAt: string;
  /** Whether a call of an earlier run may still delete the data. */
  readonly isOpen: boolean;
  /** Whether the driver refused its parameters. Other errors may be from before its call. */
  readonly isRefused: boolean;
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
    let refusal: DriverError | undefined;
    const isOpen = isEarlierCallOpen(volume);
    const startedAt = startOfDeletion(begun.volume, this.#effects.now);
    try {
      const prepared = await this.#effects.begin(request, begun);
      const answer = await this.#delete(begun, prepared, request.signal);
      if (answer instanceof DriverError) {
        refusal = answer;
        if (!(await this.#isRetained(begun, prepared))) throw refusal;
        this.#effects.options.logger.warn(
          'volume removed without a deletion: its driver refuses its parameters, and its reclaimPolicy is retain',
          { volume: `${volume.namespace}/${volume.name}`, error: refusal.message },
        );
      } else if (isPending(answer))
        return await this.#effects.reportInProgress(request, begun.volume, 'delete', answer);
    } catch (thrown) {
      const isRefused = refusal !== undefined;
      return this.#failed(begun, from, { thrown, startedAt, isOpen, isRefused }, request);
    }
    if (this.#effects.part === 'node') return this.#effects.reportDeletion(request, begun.volume);
    return this.release(begun.volume, request);
  }

  /**
   * Deletes the data. If the driver refuses the parameters of the attempt of a volume without a handle, nothing is
   * where they say: the data would be where the class says now.
   * @returns the refusal if the driver refuses the parameters of all calls
   */
  async #delete(
    situation: VolumeSituation,
    { driver, context }: PreparedCall,
    signal: AbortSignal,
  ): Promise<void | Pending | DriverError> {
    const handle = situation.volume.handle || undefined;
    let refusal: DriverError;
    try {
      return await driver.delete({ ...context, handle });
    } catch (thrown) {
      if (!isParametersRefusal(thrown)) throw thrown;
      refusal = thrown;
    }
    const present = handle ? undefined : await this.#earlier.presentCall(situation, signal);
    try {
      if (present) return await present.driver.delete({ ...present.context, handle });
    } catch (thrown) {
      if (!isParametersRefusal(thrown)) throw thrown;
      refusal = thrown;
    }
    return refusal;
  }

  /**
   * Whether the reclaim policy permits the removal of a volume, whose parameters the driver refuses, without a deletion.
   * If something of it may be at the provider, only the policy of the volume itself does: that of a class is no decision
   * to leave it there.
   */
  async #isRetained(
    { volume, storageClass }: VolumeSituation,
    { context: { operations } }: PreparedCall,
  ): Promise<boolean> {
    const { handle = '', neverUsed, reclaimPolicy } = volume;
    if (this.#effects.part === 'node' || (handle !== '' && neverUsed !== true)) return false;
    if (effectivePolicy(volume, storageClass) !== 'retain') return false;
    if (reclaimPolicy === 'retain') return true;
    const isFound = handle !== '' || (await operations.get('delete')) !== undefined;
    return !isFound && !(await isCreationOpen(operations));
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
   * Requests the deletion of an empty volume in the version that was read, so that no snapshot of it can start.
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
    { thrown, startedAt, isOpen, isRefused }: FailedDeletion,
    request: ReconcileContext,
  ): Promise<Result> {
    const { volume } = situation;
    return this.#effects.retried(
      request,
      volume,
      { call: 'delete', startedAt },
      thrown,
      (error, report) => {
        const isReported = errorClasses[error.kind] === 'final' || from === 'Failed';
        return {
          reason: error.kind,
          ...(isOpen && isRefusal(error.kind) ? this.#stillOpen(volume, report) : {}),
          ...(isReported
            ? {
                status: nextPhase(from, 'deleteFailed'),
                failureMessage: messageWithRemedy(
                  situation,
                  error,
                  isRefused ? this.#effects.part : undefined,
                ),
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

/** Whether a driver refused the parameters of its call. */
function isParametersRefusal(thrown: unknown): thrown is DriverError {
  return thrown instanceof DriverError && thrown.kind === 'InvalidParameters';
}

/**
 * The message of a failed deletion, with the remedies that end it.
 * @param refusedIn the part whose driver refused the parameters; undefined if no driver was asked
 */
function messageWithRemedy(
  { volume, storageClass }: VolumeSituation,
  error: DriverError,
  refusedIn: Part | undefined,
): string {
  const { storageClassName, handle = '', neverUsed } = volume;
  const { message } = error;
  if (error.kind !== 'InvalidParameters') return message;
  const retain = 'set reclaimPolicy to retain to remove the object without a deletion';
  const isRefused = refusedIn === 'cluster';
  // The plan of a used volume reads the policy before any call.
  if (handle !== '') return isRefused || neverUsed !== true ? `${message}; or ${retain}` : message;
  if (!storageClass)
    return `${message}; its ${classMissing.format({ storageClass: storageClassName })} any more: create it again with the same driver and parameters, and the deletion continues${isRefused ? `, or ${retain}` : ''}`;
  // A node calls its driver with the values that it was given, under any policy.
  if (!isRefused) return message;
  return `${message}; correct the parameters of storage class "${storageClassName}" or of the volume, and the deletion continues, or ${retain}`;
}
