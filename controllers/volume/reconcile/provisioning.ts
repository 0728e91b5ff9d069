import { parseQuantity, type ReconcileContext, requeueAfter, type Result } from 'kedge';
import { DriverError, errorClasses, isPending, type ProvisionResult } from '@kedge/driver-sdk';
import { snapshots } from '../../snapshot/kind.js';
import { type Volume, type VolumeStatus, volumes } from '../kind.js';
import { policyOf } from '../../storage-class/volume-shape.js';
import { ownNamesOf } from '../../provisioned/credentials.js';
import { classMissing } from '../../provisioned/driver-call.js';
import type { EarlierAttempt } from './earlier-attempt.js';
import type { PreparedCall, VolumeEffects } from './effects.js';
import { isFormatted, neverUsed } from './stalled.js';
import type { Failure } from '../../provisioned/failure.js';
import { noneExhausted, Relocation } from './relocation.js';
import { requireSameDriver } from '../place/topology-choice.js';
import { restoredSnapshot, sourceOf } from '../rules/restore-source.js';
import { waitsReason } from '../../provisioned/conditions.js';
import { nextPhase, type NextVolumePhase } from '../states/phases.js';
import { effectivePolicy, type VolumeAction, type VolumeSituation } from '../states/plan.js';
import { enterInFlight } from '../../provisioned/in-flight.js';
import { callAgain, driverErrorOf, retryDelayMs } from '../../provisioned/retries.js';
import { beingRestored } from './reclaim.js';
import type { Reason } from '../../reasons/index.js';

type Start = Extract<VolumeAction, { readonly type: 'startProvisioning' }>;
/** The phases in which an attempt starts; from Provisioning it replaces one with other parameters. */
type StartedFrom = Start['from'] | 'Provisioning';

/** Transitions from Pending to a known outcome: V2 to V10, V20, V21. */
export class Provisioning {
  readonly #effects: VolumeEffects;
  readonly #relocation: Relocation;
  readonly #earlier: EarlierAttempt;

  constructor(effects: VolumeEffects, earlier: EarlierAttempt) {
    this.#effects = effects;
    this.#relocation = new Relocation(effects);
    this.#earlier = earlier;
  }

  /**
   * V3, V10: the intent is stored before the driver is called, so that a crash leaks nothing. The secrets are resolved
   * before that: if that fails, this attempt captures neither driver nor parameters. The volume waits instead without a
   * place or a ready snapshot (V2), and fails for an error that a retry does not solve (V4).
   */
  async start(
    situation: VolumeSituation,
    { from, status: begun }: { readonly from: StartedFrom; readonly status?: NextVolumePhase },
    request: ReconcileContext,
  ): Promise<Result> {
    const { volume, storageClass } = situation;
    const { options } = this.#effects;
    if (!storageClass) return this.#refused(situation, from, classMissing(volume), request);
    let prepared;
    try {
      requireSameDriver(volume, storageClass);
      prepared = await this.#earlier.prepareAnew(situation, request.signal);
    } catch (thrown) {
      // Other errors do not count as a failure of the volume: they are retried with the controller's backoff.
      if (thrown instanceof DriverError && errorClasses[thrown.kind] === 'final')
        return this.#refused(situation, from, thrown, request);
      throw thrown;
    }
    const source = sourceOf(volume, options.manager.informer(snapshots).lister);
    const snapshot = source?.type === 'ready' ? source.snapshot : undefined;
    try {
      // A driver that can't make a call has none in progress: the volume can be deleted.
      await prepared.driver.load?.();
    } catch (thrown) {
      return this.#notLoaded(volume, driverErrorOf(thrown), request);
    }
    const choice = await this.#relocation.choose(volume, storageClass, prepared, snapshot);
    if (choice.type === 'none')
      return this.#wait(request, volume, 'TopologyUnsatisfied', choice.message);
    if (source?.type === 'waits') return this.#wait(request, volume, source.reason, source.message);
    const { topology } = choice;
    const left =
      (await this.#earlier.leave(situation, prepared, request)) ??
      (await this.#relocation.leaveFor(volume, topology, prepared, request));
    if (left) return left;
    const caller = this.#effects.callingProcess({ ...volume, topology });
    const status: VolumeStatus = {
      ...(begun === undefined ? {} : { status: begun }),
      driver: storageClass.driver,
      topology,
      // The place of the resource if the answer is lost, also if the class changes.
      driverParameters: prepared.parameters,
      effectiveReclaimPolicy: policyOf(volume, storageClass),
      ownParameters: ownNamesOf(volume, storageClass),
      reason: 'Provisioning',
      failureMessage: '',
      attempts: 0,
      ...(caller.type === 'waits'
        ? {
            // The node provisions the volume with the captured values. Failures are recorded with the present inputs.
            failedWith: situation.inputs,
            ...this.#effects.made(volume, 'False', waitsReason, caller.message),
          }
        : this.#effects.made(
            volume,
            'False',
            'Provisioning',
            `driver ${storageClass.driver} is provisioning the volume`,
          )),
    };
    await choice.write((also) => {
      if (!snapshot) return this.#effects.write(request, volume, status, also);
      const intent = { kind: volumes, object: volume, status, also };
      return enterInFlight(request, intent, beingRestored, snapshot);
    });
    if (from === 'Provisioning') this.#earlier.renewed(situation);
    return requeueAfter(0);
  }

  /** V2: the package of a driver is missing. It may be installed at any time. */
  async #notLoaded(volume: Volume, error: DriverError, request: ReconcileContext): Promise<Result> {
    await this.#wait(request, volume, error.kind, error.message);
    return callAgain(error, retryDelayMs(request, error, this.#effects.options));
  }

  /** V2: writes why the volume waits, without a driver call. A change of the awaited object queues the volume. */
  async #wait(
    request: ReconcileContext,
    volume: Volume,
    reason: Reason,
    message: string,
  ): Promise<Result> {
    // The earlier failure of a Failed volume is no longer the reason of its wait.
    const failure = volume.status === 'Failed' ? { failureMessage: message } : {};
    const waits = { type: 'Provisioned', reason, message };
    return this.#effects.waitFor(request, volume, waits, { reason, ...failure });
  }

  /**
   * V5 to V9: calls the driver to provision or restore the volume, and writes the outcome. A volume whose place has no
   * capacity is moved first. One that the driver can't expand to its size is deleted and provisioned again.
   */
  async provision(situation: VolumeSituation, request: ReconcileContext): Promise<Result> {
    const { volume, storageClass } = situation;
    const { store } = this.#effects.options;
    const startedAt = this.#effects.now;
    const call = volume.source ? 'restore' : 'provision';
    let made: ProvisionResult;
    let prepared: PreparedCall | undefined;
    try {
      if (await this.#earlier.isOutdated(situation, request.signal))
        return await this.start(situation, { from: 'Provisioning' }, request);
      prepared = await this.#effects.begin(request, situation);
      const { driver, context } = prepared;
      const moved =
        (await this.#relocation.completeLeave(volume, prepared, request)) ??
        (await this.#relocation.move(situation, prepared, request));
      if (moved) return moved;
      const sizeBytes = parseQuantity(volume.size) ?? 0n;
      const asked = { ...context, sizeBytes, accessMode: volume.accessMode };
      const wanted = { ...asked, topology: volume.topology ?? {} };
      const answer = volume.source
        ? await driver.restore({ ...wanted, snapshot: await restoredSnapshot(volume, store) })
        : await driver.provision(wanted);
      if (isPending(answer))
        return await this.#effects.reportInProgress(request, volume, call, answer);
      made = answer;
      const { ownsData, expand } = driver.capabilities();
      // An earlier attempt provisioned a smaller size. The volume is expanded next, or provisioned again.
      if (made.sizeBytes < sizeBytes && ownsData && !expand) {
        const gone = await driver.delete({ ...context, handle: made.handle });
        if (isPending(gone))
          return await this.#effects.reportInProgress(request, volume, call, gone);
        throw new DriverError(
          'Internal',
          `driver ${driver.name} provisioned ${made.sizeBytes} bytes instead of ${sizeBytes}; the volume is provisioned again`,
        );
      }
    } catch (thrown) {
      return this.#failed(situation, { call, startedAt, prepared }, thrown, request);
    }
    const { driver, parameters } = prepared;
    await this.#effects.write(request, volume, {
      status: nextPhase('Provisioning', 'provisioned'),
      handle: made.handle,
      sizeBytes: String(made.sizeBytes),
      driver: driver.name,
      driverParameters: parameters,
      ownParameters: ownNamesOf(volume, storageClass),
      effectiveReclaimPolicy: effectivePolicy(volume, storageClass),
      reason: 'Provisioned',
      failureMessage: '',
      failedWith: '',
      ...neverUsed(volume),
      ...noneExhausted(volume),
      formatted: isFormatted(volume, driver),
      ...this.#effects.succeeded(call, startedAt),
      ...this.#effects.made(volume, 'True', 'Provisioned', `provisioned by driver ${driver.name}`),
    });
    this.#earlier.ended(volume, 'known');
    return requeueAfter(0);
  }

  /** V4: writes Failed before any driver call, because an input is missing or invalid. */
  #refused(
    situation: VolumeSituation,
    from: StartedFrom,
    error: DriverError,
    request: ReconcileContext,
  ): Promise<Result> {
    const status = nextPhase(from, 'failedForGood');
    return this.#report(situation, 'provision', error, () => status, this.#effects.now, request);
  }

  /**
   * V4, V5, V7, V8 by the class of the error. A store conflict is not a failure: the call is repeated. A place that has
   * not refused the volume yet is used at once, and this is no attempt in the present place.
   */
  async #failed(
    situation: VolumeSituation,
    {
      call,
      startedAt,
      prepared,
    }: { call: string; startedAt: string; prepared?: PreparedCall | undefined },
    thrown: unknown,
    request: ReconcileContext,
  ): Promise<Result> {
    const failure = driverErrorOf(thrown);
    const refused = await this.#relocation.decide(situation, prepared, failure);
    const { error, status = {} } = refused ?? { error: failure };
    const { volume, inputs } = situation;
    if (refused?.moves) {
      await this.#effects.write(request, volume, {
        status: nextPhase('Provisioning', 'failedForNow'),
        ...status,
        reason: error.kind,
        failedWith: inputs,
        ...this.#effects.failed(call, startedAt, error, 0),
        ...this.#effects.made(volume, 'False', error.kind, error.message),
      });
      return requeueAfter(0);
    }
    const next = (event: Failure['event']) => nextPhase('Provisioning', event);
    return this.#report(situation, call, error, next, startedAt, request, status);
  }

  async #report(
    situation: VolumeSituation,
    call: string,
    error: DriverError,
    next: (event: Failure['event']) => NextVolumePhase,
    startedAt: string,
    request: ReconcileContext,
    more: VolumeStatus = {},
  ): Promise<Result> {
    const { volume, inputs } = situation;
    const { logger, policy } = this.#effects.options;
    const { stalledProbeMs: unknownMs, failedRecheckMs: finalMs } = policy;
    const failed = { call, startedAt, error };
    const classified = this.#effects.classified(request, volume, failed, { unknownMs, finalMs });
    const { event, reason, message, againMs, report } = classified;
    await this.#effects.write(request, volume, {
      ...report,
      ...more,
      status: next(event),
      // Only a Failed or Stalled volume has a failureMessage (specification section 2.2); lastOperation has all errors.
      failureMessage: event === 'failedForNow' ? '' : message,
      failedWith: inputs,
    });
    if (event !== 'failedForNow')
      this.#earlier.ended(volume, event === 'outcomeUnknown' ? 'unknown' : 'known');
    if (againMs !== undefined) return callAgain(error, againMs);
    const label = `${volume.namespace}/${volume.name}`;
    logger.warn('driver call failed', { volume: label, call, reason, error: error.message });
    return requeueAfter(0);
  }

  /** Lets a Failed volume without a handle start again, once `failedRecheckMs` have passed since its last change. */
  async recheck(volume: Volume, request: ReconcileContext): Promise<Result> {
    const { clock, policy } = this.#effects.options;
    const age = clock.now() - Date.parse(volume.metadata.updatedAt);
    // A clock that was far ahead when the volume failed would delay the retry for as long.
    const leftMs = Math.abs(age) < policy.failedRecheckMs ? policy.failedRecheckMs - age : 0;
    if (leftMs > 0 || (volume.handle ?? '') !== '') return requeueAfter(Math.max(leftMs, 60_000));
    await this.#effects.write(request, volume, {
      attempts: 0,
      failedWith: '',
      reason: 'Rechecking',
    });
    return requeueAfter(0);
  }
}
