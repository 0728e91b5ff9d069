import { isDeleting, jsonEqual, type ReconcileContext, type Result } from 'kedge';
import {
  type Driver,
  DriverError,
  isPending,
  type Operations,
  type Parameters,
} from '@kedge/driver-sdk';
import { liveClass } from '../../references/live-class.js';
import { isSealed } from '../../secret/index.js';
import type { Volume } from '../kind.js';
import type { VolumeSituation } from '../states/plan.js';
import type { PreparedCall, VolumeEffects } from './effects.js';

const nothingThere: ReadonlySet<string> = new Set([
  'NotFound',
  'InvalidParameters',
  'PermissionDenied',
  'Unsupported',
]);

/** Whether an error shows that the place of an attempt has no resource of it, or can't be reached permanently. */
function isNothingThere({ kind }: DriverError, isOpen: boolean): boolean {
  // Rights to create and to delete differ: what an open creation made must not be forgotten.
  if (kind === 'PermissionDenied' && isOpen) return false;
  return nothingThere.has(kind);
}

/** Whether parameters are equal, except credentials, which each call takes from the live class. */
function haveSameShape(driver: Driver, one: Parameters, other: Parameters): boolean {
  const { sensitiveParameters, credentialParameters = [] } = driver.capabilities();
  const ignored = new Set([...sensitiveParameters, ...credentialParameters]);
  const shape = (parameters: Parameters): Parameters =>
    Object.fromEntries(
      Object.entries(parameters)
        // Each seal of a literal is another text.
        .filter(([key, value]) => !ignored.has(key) && !isSealed(value))
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  return jsonEqual(shape(one), shape(other));
}

function capturedBy({ driverParameters = {}, handle = '' }: Volume): Parameters | undefined {
  return handle === '' && Object.keys(driverParameters).length > 0 ? driverParameters : undefined;
}

/** Whether the outcome of a creation is unknown. */
export async function isCreationOpen(operations: Operations): Promise<boolean> {
  const kept = [await operations.get('provision'), await operations.get('restore')];
  return kept.some((text) => text !== undefined);
}

/**
 * The earlier attempt to provision a volume, whose answer may be unknown: its resource is where the parameters of that
 * time say, also if the class has others now.
 */
export class EarlierAttempt {
  readonly #effects: VolumeEffects;

  constructor(effects: VolumeEffects) {
    this.#effects = effects;
  }

  /** Prepares a call with the present parameters instead of those of the attempt. @throws DriverError */
  prepareAnew(situation: VolumeSituation, signal: AbortSignal): Promise<PreparedCall> {
    const { driverParameters: _, ...volume } = situation.volume;
    return this.#effects.prepare({ ...situation, volume }, signal);
  }

  /** Whether the class or the volume has other parameters than the attempt in progress. @throws DriverError */
  async isOutdated(situation: VolumeSituation, signal: AbortSignal): Promise<boolean> {
    const { volume } = situation;
    const captured = capturedBy(volume);
    const storageClass = liveClass(volume, situation.storageClass);
    // A node provisions with the values that it was given. The outcome of a deleted volume's attempt is awaited.
    if (!captured || !storageClass || this.#effects.part === 'node' || isDeleting(volume))
      return false;
    const { driver, parameters } = await this.prepareAnew(situation, signal);
    return !haveSameShape(driver, captured, parameters);
  }

  /**
   * Deletes what the attempt may have created, if the next one has other parameters. Otherwise it would remain at the
   * provider unnoticed: the next attempt looks for it in its own place. Undefined once nothing is there.
   */
  async leave(
    situation: VolumeSituation,
    next: PreparedCall,
    request: ReconcileContext,
  ): Promise<Result | undefined> {
    const { volume } = situation;
    const captured = capturedBy(volume);
    if (!captured || this.#effects.callingProcess(volume).type !== 'here') return undefined;
    if (haveSameShape(next.driver, captured, next.parameters)) return undefined;
    const call = { call: 'provision', startedAt: this.#effects.now } as const;
    let isOpen = false;
    try {
      const { driver, context } = await this.#effects.begin(request, situation);
      isOpen = await isCreationOpen(context.operations);
      // The parameters were refused. What the provider has of the uid is not of the attempt: it may be a used volume
      // that a restored backup does not know.
      if (!isOpen && volume.lastOperation?.outcome === 'InvalidParameters') return undefined;
      const answer = await driver.delete({ ...context, handle: undefined });
      if (isPending(answer))
        return await this.#effects.reportInProgress(request, volume, call.call, answer);
      for (const kind of ['provision', 'restore', 'delete'] as const)
        await context.operations.clear(kind);
    } catch (thrown) {
      if (thrown instanceof DriverError && isNothingThere(thrown, isOpen)) return undefined;
      return this.#effects.retried(request, volume, call, thrown, ({ kind, message }) => ({
        reason: kind,
        ...this.#effects.made(
          volume,
          'False',
          kind,
          `its parameters changed; it is provisioned with them once nothing of the earlier attempt is at the provider: ${message}`,
        ),
      }));
    }
    return undefined;
  }
}
