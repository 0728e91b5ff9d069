import { isDeleting, parseQuantity, type ReconcileContext, requeueAfter, type Result } from 'kedge';
import type { Driver, DriverError } from '@kedge/driver-sdk';
import { ownNamesOf } from '../../provisioned/credentials.js';
import { driverErrorOf } from '../../provisioned/retries.js';
import type { Volume, VolumeStatus } from '../kind.js';
import { noneExhausted } from './relocation.js';
import { nextPhase } from '../states/phases.js';
import { effectivePolicy, mayHaveBeenUsed, type VolumeSituation } from '../states/plan.js';
import type { EarlierAttempt } from './earlier-attempt.js';
import type { PreparedCall, VolumeEffects } from './effects.js';

/** The end of the phase Stalled. */
export class StalledOutcome {
  readonly #effects: VolumeEffects;
  readonly #earlier: EarlierAttempt;

  constructor(effects: VolumeEffects, earlier: EarlierAttempt) {
    this.#effects = effects;
    this.#earlier = earlier;
  }

  /**
   * V20, V21: observes the provider. If the outcome is known, or the volume counts as absent, the phase Stalled ends.
   * So it does if a user ended the wait for the deletion of the volume, and the provider refuses the look (V33).
   */
  async observe(situation: VolumeSituation, request: ReconcileContext): Promise<Result> {
    const { volume } = situation;
    const startedAt = this.#effects.now;
    let prepared: PreparedCall | undefined;
    try {
      prepared = await this.#effects.begin(request, situation);
      const { driver, parameters, context } = prepared;
      const found = await driver.observe({ ...context, handle: volume.handle || undefined });
      // The outcome of the operation is known: stop polling it.
      for (const kind of ['provision', 'restore', 'delete'] as const)
        await context.operations.clear(kind);
      await this.#effects.write(request, volume, {
        status: nextPhase('Stalled', 'provisioned'),
        formatted: isFormatted(volume, driver),
        handle: found.handle,
        sizeBytes: String(found.sizeBytes ?? parseQuantity(volume.size) ?? 0n),
        driverParameters: parameters,
        ownParameters: ownNamesOf(volume, situation.storageClass),
        effectiveReclaimPolicy: effectivePolicy(volume, situation.storageClass),
        failureMessage: '',
        failedWith: '',
        reason: 'Provisioned',
        ...neverUsed(volume),
        ...noneExhausted(volume),
        ...this.#effects.succeeded('observe', startedAt),
        ...this.#effects.made(volume, 'True', 'Provisioned', `found by driver ${driver.name}`),
      });
      this.#earlier.ended(volume, 'known');
      return requeueAfter(0);
    } catch (thrown) {
      const error = driverErrorOf(thrown);
      const isAbsent =
        // If the driver does not support observe, a repeated provision determines the outcome.
        error.kind === 'NotFound' ||
        error.kind === 'Unsupported' ||
        (prepared !== undefined && (await this.#isLeft(situation, error, request)));
      if (!isAbsent && this.#effects.isAbandoned(volume, error)) {
        await this.#effects.write(request, volume, {
          status: nextPhase('Stalled', 'abandoned'),
          failureMessage: error.message,
          reason: error.kind,
          ...this.#effects.failed('observe', startedAt, error),
        });
        this.#earlier.ended(volume, 'known');
        return requeueAfter(0);
      }
      if (!isAbsent) {
        const { stalledProbeMs: leastMs } = this.#effects.options.policy;
        const call = { call: 'observe', startedAt, leastMs };
        return this.#effects.retried(request, volume, call, error);
      }
      // A deletion that a restored backup contains refers to a resource of that time. Its name may now be that of a
      // volume with data, which must not be deleted.
      await prepared?.context.operations.clear('delete');
      await this.#effects.write(request, volume, {
        status: nextPhase('Stalled', 'observedAbsent'),
        failureMessage: '',
        reason: 'Provisioning',
        // A volume that is created only to be deleted has no data.
        ...(error.kind === 'NotFound' && isDeleting(volume) ? { neverUsed: true } : {}),
      });
      if (error.kind === 'InvalidParameters') this.#earlier.resumed(situation);
      return requeueAfter(0);
    }
  }

  /**
   * Whether a volume without a handle, whose parameters the driver refuses, counts as absent: it is being deleted, or
   * has other parameters now. Otherwise it could neither be provisioned nor deleted. An error before the driver's call,
   * such as that of a missing secret, does not count.
   */
  async #isLeft(
    situation: VolumeSituation,
    { kind }: DriverError,
    { signal }: ReconcileContext,
  ): Promise<boolean> {
    const { volume } = situation;
    if (kind !== 'InvalidParameters' || (volume.handle ?? '') !== '') return false;
    return isDeleting(volume) || this.#earlier.resumes(situation, signal);
  }
}

/**
 * V9: deleted before it was usable, so there is no data to retain. A volume of a restored backup may have been used
 * after the backup.
 */
export function neverUsed(volume: Volume): VolumeStatus {
  return isDeleting(volume) && !volume.handle && !mayHaveBeenUsed(volume)
    ? { neverUsed: true }
    : {};
}

/** True for a volume restored to a block device: it has the file system of its source and is never formatted. */
export function isFormatted({ source }: Volume, driver: Driver): boolean {
  return source !== undefined && driver.capabilities().blockDevice;
}
