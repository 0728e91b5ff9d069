import { isDeleting, jsonEqual, type ReconcileContext, type Result } from 'kedge';
import {
  type Driver,
  DriverError,
  isPending,
  type Operations,
  type Parameters,
} from '@kedge/driver-sdk';
import { liveClass } from '../../references/live-class.js';
import { bodyOf, credentialKeysOf } from '../../provisioned/credentials.js';
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

/** Whether a driver refused the parameters of its call. */
export function isParametersRefusal(thrown: unknown): thrown is DriverError {
  return thrown instanceof DriverError && thrown.kind === 'InvalidParameters';
}

/**
 * Whether the driver accepts the parameters of a call. A credential that it refuses is refused in every place, which
 * shows nothing about another one.
 */
async function isAccepted({ driver, context }: PreparedCall): Promise<boolean> {
  try {
    await driver.observe({ ...context, handle: undefined });
    return true;
  } catch (thrown) {
    const { kind } = DriverError.from(thrown);
    return kind === 'NotFound' || kind === 'Unsupported';
  }
}

/** Whether parameters are equal, except credentials, which each call takes from the live class. */
function haveSameShape(driver: Driver, one: Parameters, other: Parameters): boolean {
  const ignored = credentialKeysOf(driver);
  const shape = (parameters: Parameters): Parameters =>
    Object.fromEntries(
      Object.entries(parameters)
        .filter(([key]) => !ignored.has(key))
        // Each copy of a sealed literal is another text.
        .map(([key, value]) => [key, bodyOf(value)] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  return jsonEqual(shape(one), shape(other));
}

/** The parameters of the attempt in progress, which may be none at all. */
function capturedBy({ driverParameters, handle = '' }: Volume): Parameters | undefined {
  return handle === '' ? driverParameters : undefined;
}

const creations = ['provision', 'restore'] as const;

/** Whether the outcome of a creation is unknown. */
export async function isCreationOpen(operations: Operations): Promise<boolean> {
  for (const kind of creations) if ((await operations.get(kind)) !== undefined) return true;
  return false;
}

/**
 * Clears the operations of an attempt of which nothing is at the provider. The next attempt would continue them in
 * another place.
 */
export async function clearAttempt(operations: Operations): Promise<void> {
  for (const kind of [...creations, 'delete'] as const) await operations.clear(kind);
}

/**
 * The earlier attempt to provision a volume, whose answer may be unknown: its resource is where the parameters of that
 * time say, also if the class has others now.
 */
export class EarlierAttempt {
  readonly #effects: VolumeEffects;
  /** The inputs with which the attempt in progress replaced another one, by uid of the volume. */
  readonly #renewedWith = new Map<string, string>();
  /** The inputs with which the volume left the phase Stalled, by uid, until the outcome of its creation is known. */
  readonly #resumedWith = new Map<string, string>();

  constructor(effects: VolumeEffects) {
    this.#effects = effects;
  }

  /** Prepares a call with the present parameters instead of those of the attempt. @throws DriverError */
  prepareAnew(situation: VolumeSituation, signal: AbortSignal): Promise<PreparedCall> {
    const { driverParameters: _, ...volume } = situation.volume;
    return this.#effects.prepare({ ...situation, volume }, signal);
  }

  /** Records that an attempt replaces another one. */
  renewed({ volume, inputs }: VolumeSituation): void {
    this.#renewedWith.set(volume.metadata.uid, inputs);
  }

  /** Records that the attempt in progress ended. With an unknown outcome the volume becomes Stalled. */
  ended({ metadata }: Volume, outcome: 'known' | 'unknown'): void {
    this.#renewedWith.delete(metadata.uid);
    if (outcome === 'known') this.#resumedWith.delete(metadata.uid);
  }

  /**
   * Whether a Stalled volume is to be provisioned again because of other parameters. The same inputs resume it only
   * once until the outcome is known: a volume whose parameters differ at each reading would otherwise be provisioned at
   * every probe.
   * @throws DriverError
   */
  async resumes(situation: VolumeSituation, signal: AbortSignal): Promise<boolean> {
    const { volume, inputs } = situation;
    if (this.#resumedWith.get(volume.metadata.uid) === inputs) return false;
    return this.isOutdated(situation, signal);
  }

  /** Records that a volume left the phase Stalled, after the write: one that was refused is repeated. */
  resumed({ volume, inputs }: VolumeSituation): void {
    this.#resumedWith.set(volume.metadata.uid, inputs);
  }

  /**
   * Whether the class or the volume has other parameters than the attempt in progress. Inputs replace an attempt once:
   * parameters that differ at each reading would otherwise replace it forever. @throws DriverError
   */
  async isOutdated(situation: VolumeSituation, signal: AbortSignal): Promise<boolean> {
    const { volume, inputs } = situation;
    // The outcome of a deleted volume's attempt is awaited.
    if (isDeleting(volume) || this.#renewedWith.get(volume.metadata.uid) === inputs) return false;
    return (await this.presentCall(situation, signal)) !== undefined;
  }

  /**
   * Prepares a call with the parameters that the class and the volume have now; undefined if they are those of the
   * attempt in progress. @throws DriverError
   */
  async presentCall(
    situation: VolumeSituation,
    signal: AbortSignal,
  ): Promise<PreparedCall | undefined> {
    const { volume } = situation;
    const captured = capturedBy(volume);
    const storageClass = liveClass(volume, situation.storageClass);
    // A node provisions with the values that it was given.
    if (!captured || !storageClass || this.#effects.part === 'node') return undefined;
    const prepared = await this.prepareAnew(situation, signal);
    return haveSameShape(prepared.driver, captured, prepared.parameters) ? undefined : prepared;
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
    const operations = this.#effects.operations(volume, this.#effects.options.node);
    const isOpen = await isCreationOpen(operations);
    let isOfPlace = true;
    try {
      const { driver, context } = await this.#effects.begin(request, situation);
      // The parameters were refused. What the provider has of the uid is not of the attempt: it may be a used volume
      // that a restored backup does not know.
      if (!isOpen && volume.lastOperation?.outcome === 'InvalidParameters') return undefined;
      const remove = () => driver.delete({ ...context, handle: undefined });
      const answer = await remove().catch(async (thrown: unknown) => {
        if (!isOpen || !isParametersRefusal(thrown)) throw thrown;
        isOfPlace = await isAccepted(next);
        if (!isOfPlace) throw thrown;
        // It may have been refused for a credential that was corrected since.
        return remove();
      });
      if (isPending(answer))
        return await this.#effects.reportInProgress(request, volume, call.call, answer);
    } catch (thrown) {
      if (!(thrown instanceof DriverError) || !isOfPlace || !isNothingThere(thrown, isOpen))
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
    await clearAttempt(operations);
    return undefined;
  }
}
