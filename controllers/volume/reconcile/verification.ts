import { done, findCondition, pending, type ReconcileContext, type Result } from 'kedge';
import type { Driver, DriverError } from '@kedge/driver-sdk';
import type { Volume, VolumeStatus } from '../kind.js';
import type { VolumeEffects } from './effects.js';

/** The condition of a volume whose last probe failed or did not find it. Absent: no such probe is reported. */
const verifiedCondition = 'Verified';

/** Time until a volume that could not be verified is probed again, unless its inputs change; milliseconds. */
const probeAgainMs = 300_000;

/** Whether the condition of a volume reports that its last probe failed or did not find it. */
export function isUnverified({ conditions }: Pick<Volume, 'conditions'>): boolean {
  return findCondition(conditions, verifiedCondition)?.status === 'False';
}

/** Reports whether the providers of volumes answer probes. */
export class Verification {
  readonly #effects: VolumeEffects;

  constructor(effects: VolumeEffects) {
    this.#effects = effects;
  }

  /**
   * Reports a failed probe; no-op for the error Unsupported and for a driver of this machine. The volume stays as it
   * is: attached, mounted and formatted.
   */
  async failed(
    volume: Volume,
    error: DriverError,
    startedAt: string,
    request: ReconcileContext,
  ): Promise<Result> {
    if (error.kind === 'Unsupported' || !(await this.#driverOf(volume))) return done();
    const attached = (volume.attachments ?? []).some(({ state }) => state === 'Attached');
    const what = attached ? 'whether it still exists and is attached' : 'whether it still exists';
    const message = `the provider could not be asked ${what}: ${error.message}; until it answers, nothing is detached, deleted or formatted`;
    if (findCondition(volume.conditions, verifiedCondition)?.message !== message)
      await this.#effects.write(request, volume, {
        ...this.#effects.failed('observe', startedAt, error, probeAgainMs),
        ...this.#effects.condition(volume, verifiedCondition, 'False', error.kind, message),
      });
    return pending(probeAgainMs);
  }

  /** The report of a first probe that did not find the volume. @param again time of the second probe, which decides */
  missing(volume: Volume, words: string, again: string): VolumeStatus {
    const message = `a probe did not find the volume at its provider: ${words}; it is lost if a second one at ${again} does not find it either`;
    return this.#effects.condition(volume, verifiedCondition, 'False', 'VolumeMissing', message);
  }

  /** The report of a successful probe; nothing if none has failed. */
  succeeded(volume: Volume, startedAt: string): VolumeStatus {
    if (!isUnverified(volume)) return {};
    const { conditions } = this.settled(volume);
    return { conditions, ...this.#effects.succeeded('observe', startedAt) };
  }

  /** The volume without the report of an earlier probe, because it is known whether the provider has it. */
  settled(volume: Volume): Volume & Required<Pick<Volume, 'conditions'>> {
    const { conditions = [] } = volume;
    return { ...volume, conditions: conditions.filter(({ type }) => type !== verifiedCondition) };
  }

  /** Whether a volume that an earlier process left attached is verified at its provider after a start. */
  async isNeeded(volume: Volume): Promise<boolean> {
    const driver = await this.#driverOf(volume);
    return driver !== undefined && driver.capabilities().adoptsOffline !== true;
  }

  /** The driver of a volume of a cloud provider. */
  async #driverOf({ driver = '' }: Volume): Promise<Driver | undefined> {
    const found = await this.#effects.options.drivers.get(driver);
    return found?.provider === undefined ? undefined : found;
  }
}
