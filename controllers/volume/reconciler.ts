import {
  type Clock,
  type Condition,
  done,
  fail,
  isDeleting,
  type Lister,
  type Logger,
  type Manager,
  type ObjectStore,
  parseQuantity,
  type Random,
  removeFinalizer,
  type Request,
  requeueAfter,
  type Result,
  retry,
  setCondition,
  StatusError,
  timestamp,
} from 'kedge';
import {
  type CallContext,
  DriverError,
  type DriverRegistry,
  type Parameters,
} from '@kedge/driver-sdk';
import {
  secrets,
  type Service,
  services,
  storageClasses,
  type Volume,
  volumes,
} from '../kinds/index.js';
import { type ParameterResolver, referencedSecrets } from '../secret/index.js';
import { RetryGate } from '../retry-gate.js';
import { volumeFinalizer } from './admission.js';
import { classMissing, type DriverCall, driverCall, identityOf } from './driver-call.js';
import { judgeFailure } from './failure.js';
import { nextPhase, type VolumeEvent } from './phases.js';
import { effectivePolicy, planVolume, type VolumeAction, type VolumeSituation } from './plan.js';

/** A Failed volume is tried again this often even if nothing seems to have changed. */
const recheckMs = 15 * 60_000;
/** Backoff of driver calls (research/storage.md 1.0). */
export const backoff = { baseMs: 1_000, maxMs: 300_000, jitter: 0.2 };
/** Actions that the gate holds back after a failure. */
const callsDriver: readonly VolumeAction['type'][] = ['provision', 'expand', 'reclaim'];
/** A Stalled volume's provider is asked again this often. */
const observeMs = 30_000;

/** Ports of the volume controller. */
export interface VolumeControllerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly drivers: DriverRegistry;
  readonly resolver: ParameterResolver;
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Services by the volumes that belong to them. */
function ownerOf(volume: Volume, all: Lister<Service>): Service | undefined {
  return volume.ownerService ? all.get(volume.ownerService) : undefined;
}

/** Effects of the volume state machine; what to do is decided in plan.ts. */
export class VolumeReconciler {
  readonly #options: VolumeControllerOptions;
  readonly #gate: RetryGate;

  constructor(options: VolumeControllerOptions) {
    this.#options = options;
    this.#gate = new RetryGate(options.clock, options.random, backoff);
  }

  async reconcile(request: Request): Promise<Result> {
    const { store } = this.#options;
    const volume = await store.get(volumes, request.key);
    if (!volume) return done();
    const situation = this.#situation(volume);
    const action = planVolume(situation);
    if (callsDriver.includes(action.type)) {
      // A fresh count of attempts (by hand, or after a long while) is a fresh start.
      if (action.type === 'provision' && !volume.attempts) this.#gate.clear(volume.metadata.uid);
      const leftMs = this.#gate.leftMs(volume.metadata.uid, situation.inputs);
      if (leftMs > 0) return requeueAfter(leftMs);
    }
    switch (action.type) {
      case 'none':
      case 'waitForDetach':
        return done();
      case 'recheckLater':
        return this.#recheck(volume);
      case 'startProvisioning':
        return this.#startProvisioning(situation, action.event);
      case 'provision':
        return this.#provision(situation, request);
      case 'observe':
        return this.#observe(situation, request);
      case 'expand':
        return this.#expand(situation, action.sizeBytes, request);
      case 'release':
        return this.#move(volume, 'ownerGone', 'OwnerGone', 'its service is gone');
      case 'takeBack':
        return this.#move(volume, 'ownerBack', 'OwnerBack', 'its service is back');
      case 'reclaim':
        return this.#reclaim(situation, request);
      case 'forget':
        return this.#forget(volume);
    }
  }

  #situation(volume: Volume): VolumeSituation {
    const { manager } = this.#options;
    const storageClass = manager.informer(storageClasses).lister.get(volume.storageClassName);
    const owner = ownerOf(volume, manager.informer(services).lister);
    const references = referencedSecrets(
      { ...storageClass?.parameters, ...volume.parameters },
      volume.namespace,
    );
    const versions = references.map((key) => {
      const secret = manager.informer(secrets).lister.get(key);
      return `${key}@${secret?.metadata.resourceVersion ?? 'missing'}`;
    });
    const inputs = [
      `volume@${volume.metadata.generation}`,
      `class@${storageClass?.metadata.resourceVersion ?? 'missing'}`,
      ...versions,
    ].join(' ');
    const ownerAlive = owner !== undefined && !isDeleting(owner);
    return { volume, storageClass, ownerAlive, inputs };
  }

  #driver({ volume, storageClass }: VolumeSituation): Promise<DriverCall> {
    return driverCall(this.#options.drivers, volume, storageClass);
  }

  #call(volume: Volume, parameters: Parameters, request: Request): CallContext {
    return {
      volume: identityOf(volume),
      parameters: this.#options.resolver.resolve(parameters, volume.namespace),
      node: this.#options.node,
      signal: request.signal,
    };
  }

  async #write(volume: Volume, status: Partial<Volume>): Promise<void> {
    const { resourceVersion, uid } = volume.metadata;
    const key = { namespace: volume.namespace, name: volume.name };
    await this.#options.store.updateStatus(volumes, key, status, { resourceVersion, uid });
  }

  #condition(
    volume: Volume,
    status: Condition['status'],
    reason: string,
    message: string,
  ): Pick<Volume, 'conditions'> {
    const next = {
      type: 'Provisioned',
      status,
      reason,
      message,
      observedGeneration: volume.metadata.generation,
    };
    return { conditions: setCondition(volume.conditions, next, timestamp(this.#options.clock)) };
  }

  async #move(
    volume: Volume,
    event: VolumeEvent,
    reason: string,
    message: string,
  ): Promise<Result> {
    const status = nextPhase(volume.status ?? 'Pending', event);
    const now = timestamp(this.#options.clock);
    const condition = { type: 'Bound', status: 'False' as const, reason, message };
    await this.#write(volume, {
      status,
      reason,
      failureMessage: '',
      conditions: setCondition(volume.conditions, condition, now),
    });
    return done();
  }

  /** V3, V10: the intent is stored before the driver is called, so that a crash in between leaks nothing. */
  async #startProvisioning(
    situation: VolumeSituation,
    event: 'resolved' | 'rearmed',
  ): Promise<Result> {
    const { volume, storageClass } = situation;
    if (!storageClass) return this.#failed(situation, classMissing(volume));
    await this.#write(volume, {
      status: nextPhase(volume.status ?? 'Pending', event),
      driver: storageClass.driver,
      reason: 'Provisioning',
      failureMessage: '',
      attempts: 0,
      ...this.#condition(volume, 'False', 'Provisioning', `driver ${storageClass.driver} is asked`),
    });
    return done();
  }

  async #provision(situation: VolumeSituation, request: Request): Promise<Result> {
    const { volume, storageClass } = situation;
    try {
      const { driver, parameters } = await this.#driver(situation);
      const sizeBytes = parseQuantity(volume.size) ?? 0n;
      const { accessMode } = volume;
      const result = await driver.provision({
        ...this.#call(volume, parameters, request),
        sizeBytes,
        accessMode,
      });
      this.#gate.clear(volume.metadata.uid);
      await this.#write(volume, {
        status: nextPhase('Provisioning', 'provisioned'),
        handle: result.handle,
        sizeBytes: String(result.sizeBytes),
        driver: driver.name,
        driverParameters: parameters,
        effectiveReclaimPolicy: effectivePolicy(volume, storageClass),
        reason: 'Provisioned',
        failureMessage: '',
        failedWith: '',
        ...this.#condition(volume, 'True', 'Provisioned', `driver ${driver.name} made it`),
      });
      return done();
    } catch (thrown) {
      return this.#failed(situation, thrown);
    }
  }

  /** V4, V5, V7, V8 by the class of the error. A store conflict is nobody's failure: just again. */
  async #failed(situation: VolumeSituation, thrown: unknown): Promise<Result> {
    if (thrown instanceof StatusError) return retry(thrown);
    const { volume, inputs } = situation;
    const error = DriverError.from(thrown);
    const attempts = (volume.attempts ?? 0) + 1;
    const { event, reason, message } = judgeFailure(error, attempts);
    const delayMs = this.#closeGate(situation, error);
    await this.#write(volume, {
      status: nextPhase(volume.status ?? 'Pending', event),
      attempts,
      reason,
      failureMessage: message,
      failedWith: inputs,
      ...this.#condition(volume, 'False', reason, message),
    });
    if (event === 'failedForNow') return requeueAfter(delayMs);
    return event === 'outcomeUnknown' ? requeueAfter(observeMs) : fail(reason, message);
  }

  /** Tells of a failed driver call and gives the wait before the next. */
  #closeGate({ volume, inputs }: VolumeSituation, error: DriverError): number {
    const delayMs = this.#gate.failed(volume.metadata.uid, inputs, error.retryAfterMs);
    this.#options.logger.warn('driver call failed', {
      volume: `${volume.namespace}/${volume.name}`,
      reason: error.kind,
      error: error.message,
      retryInMs: Math.round(delayMs),
    });
    return delayMs;
  }

  async #recheck(volume: Volume): Promise<Result> {
    const since = Date.parse(volume.metadata.updatedAt);
    const leftMs = since + recheckMs - this.#options.clock.now();
    if (leftMs > 0 || (volume.handle ?? '') !== '') return requeueAfter(Math.max(leftMs, 60_000));
    await this.#write(volume, {
      status: nextPhase('Failed', 'rearmed'),
      attempts: 0,
      failureMessage: '',
      reason: 'Rechecking',
    });
    return done();
  }

  /** V20, V21: only what the provider shows leads out of Stalled. */
  async #observe(situation: VolumeSituation, request: Request): Promise<Result> {
    const { volume } = situation;
    const { driver, parameters } = await this.#driver(situation);
    const context = this.#call(volume, parameters, request);
    try {
      const found = await driver.observe({ ...context, handle: volume.handle || undefined });
      await this.#write(volume, {
        status: nextPhase('Stalled', 'provisioned'),
        handle: found.handle,
        sizeBytes: String(found.sizeBytes ?? parseQuantity(volume.size) ?? 0n),
        driverParameters: parameters,
        failureMessage: '',
        reason: 'Provisioned',
      });
      return done();
    } catch (thrown) {
      const error = DriverError.from(thrown);
      if (error.kind !== 'NotFound') return requeueAfter(observeMs);
      await this.#write(volume, {
        status: nextPhase('Stalled', 'observedAbsent'),
        failureMessage: '',
        reason: 'Provisioning',
      });
      return done();
    }
  }

  async #expand(situation: VolumeSituation, sizeBytes: bigint, request: Request): Promise<Result> {
    const { volume } = situation;
    const { driver, parameters } = await this.#driver(situation);
    if (!driver.capabilities().expand) return done();
    try {
      const context = this.#call(volume, parameters, request);
      const reached = await driver.expand({ ...context, handle: volume.handle ?? '', sizeBytes });
      this.#gate.clear(volume.metadata.uid);
      await this.#write(volume, { sizeBytes: String(reached), reason: 'Resized' });
      return done();
    } catch (thrown) {
      if (thrown instanceof StatusError) return retry(thrown);
      return requeueAfter(this.#closeGate(situation, DriverError.from(thrown)));
    }
  }

  /** V23, V24: until the driver says it is gone; the finalizer goes last. */
  async #reclaim(situation: VolumeSituation, request: Request): Promise<Result> {
    const { volume } = situation;
    if (!isDeleting(volume)) {
      // V23 for an owned volume whose service is gone: the object goes with its data.
      const { uid, resourceVersion } = volume.metadata;
      await this.#options.store.delete(volumes, keyOfVolume(volume), { uid, resourceVersion });
      return done();
    }
    try {
      const { driver, parameters } = await this.#driver(situation);
      const context = this.#call(volume, parameters, request);
      await driver.delete({ ...context, handle: volume.handle || undefined });
    } catch (thrown) {
      if (thrown instanceof StatusError) return retry(thrown);
      const error = DriverError.from(thrown);
      const delayMs = this.#closeGate(situation, error);
      await this.#write(volume, { reason: error.kind, failureMessage: error.message });
      return requeueAfter(delayMs);
    }
    return this.#forget(volume);
  }

  async #forget(volume: Volume): Promise<Result> {
    const { uid } = volume.metadata;
    this.#gate.clear(uid);
    await removeFinalizer(this.#options.store, volumes, keyOfVolume(volume), volumeFinalizer, uid);
    return done();
  }
}

/** The key of a volume. */
export function keyOfVolume(volume: Volume): { namespace: string; name: string } {
  return { namespace: volume.namespace, name: volume.name };
}
