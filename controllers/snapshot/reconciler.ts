import {
  done,
  fail,
  isDeleting,
  type ReconcileContext,
  requeueAfter,
  type Result,
  timestamp,
} from 'kedge';
import { DriverError, errorClasses, isPending } from '@kedge/driver-sdk';
import { secrets } from '../secret/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { type Volume, volumes } from '../volume/kind.js';
import { type Snapshot, type SnapshotStatus, snapshots } from './kind.js';
import type { GoneNodes } from '../node/gone.js';
import { holderOf, referencedSecrets } from '../secret/index.js';
import {
  callAgain,
  driverErrorOf,
  identityOf,
  judgeFailure,
  keyOfVolume,
  releaseObject,
  requireSeen,
  retryDelayMs,
  waitsReason,
} from '../volume/index.js';
import type { Reason } from '../reasons/index.js';
import { snapshotFinalizer } from './admission.js';
import {
  keyOfSnapshot,
  SnapshotEffects,
  type SnapshotControllerOptions,
  withHome,
} from './effects.js';
import { Handover } from './handover.js';
import { nextPhase, type NextSnapshotPhase } from './phases.js';
import { planSnapshot, type SnapshotSituation } from './plan.js';

/** Effects of the snapshot state machine; decisions are in plan.ts. */
export class SnapshotReconciler {
  readonly #options: SnapshotControllerOptions;
  readonly #effects: SnapshotEffects;
  readonly #handover: Handover;
  /** Time of the next probe and count of missing results, by uid. */
  readonly #looks = new Map<string, { readonly at: number; readonly missing: number }>();

  constructor(options: SnapshotControllerOptions, gone: GoneNodes) {
    this.#options = options;
    this.#effects = new SnapshotEffects(options);
    this.#handover = new Handover(this.#effects, gone);
  }

  async reconcile(request: ReconcileContext): Promise<Result> {
    const snapshot = await this.#options.store.get(snapshots, request.key);
    if (!snapshot) return done();
    const situation = this.#situation(snapshot);
    const isSettled = snapshot.status === 'Ready' || snapshot.status === 'Failed';
    if (isSettled && this.#effects.turn(situation.snapshot).type === 'waits')
      await this.#handover.letGoOfSource(snapshot, request);
    const action = planSnapshot(situation);
    if (this.#effects.part === 'node' && !this.#handover.isAsked(situation.snapshot, action))
      return done();
    const waits = this.#handover.waitsFor(situation, action);
    if (waits) return this.#handover.wait(situation, action, waits, request);
    switch (action.type) {
      case 'none':
        return this.#untilLook(snapshot);
      case 'wait':
        return this.#wait(request, snapshot, action.reason, action.message);
      case 'waitForRestores':
        return this.#wait(
          request,
          snapshot,
          'RestoreInFlight',
          `${snapshot.restoresInFlight?.length ?? 0} volumes are being made from it; it is deleted after that`,
        );
      case 'start':
        return this.#start(situation, action.source, request);
      case 'create':
        return this.#create(situation, request);
      case 'retry':
        await this.#effects.write(request, snapshot, {
          status: nextPhase('Failed', 'retried'),
          attempts: 0,
          failureMessage: '',
          failedWith: '',
          reason: 'Retried',
        });
        return requeueAfter(0);
      case 'look':
        return this.#look(situation, request);
      case 'startDeleting':
        return this.#startDeleting(situation, action.status, request);
      case 'delete':
        return this.#delete(situation, request);
      case 'forget':
        return this.#forget(snapshot, request);
    }
  }

  #situation(given: Snapshot): SnapshotSituation {
    const { manager, clock } = this.#options;
    const key = `${given.namespace}/${given.source.volume}`;
    const named = manager.informer(volumes).lister.get(key);
    // A later volume of the same name is not the intended source.
    const source = !given.sourceUid || named?.metadata.uid === given.sourceUid ? named : undefined;
    const snapshot = given.status === 'Pending' ? given : withHome(given, source);
    const storageClass = manager
      .informer(storageClasses)
      .lister.get(snapshot.storageClassName ?? named?.storageClassName ?? '');
    const references = referencedSecrets(
      // Before it starts it depends on the captured values of its source.
      { ...storageClass?.parameters, ...(snapshot.driverParameters ?? source?.driverParameters) },
      snapshot.namespace,
    );
    const versions = references.map((secret) => {
      const found = manager.informer(secrets).lister.get(secret);
      return `${secret}@${found?.metadata.resourceVersion ?? 'missing'}`;
    });
    const inputs = [`snapshot@${snapshot.metadata.generation}`, ...versions].join(' ');
    const look = this.#looks.get(snapshot.metadata.uid);
    return {
      snapshot,
      source,
      inputs,
      lookDue: look !== undefined && look.at <= clock.monotonic(),
    };
  }

  async #wait(
    request: ReconcileContext,
    snapshot: Snapshot,
    reason: Reason,
    message: string,
  ): Promise<Result> {
    const told = (snapshot.conditions ?? []).find((c) => c.type === 'Ready');
    if (told?.message !== message)
      await this.#effects.write(request, snapshot, {
        reason,
        ...this.#effects.condition(snapshot, 'False', reason, message),
      });
    return done();
  }

  /**
   * S3: one transaction writes snapshot and source, so that the source is not deleted during the copy. It runs
   * after the secrets were resolved, so that no driver knows a snapshot without a captured driver.
   */
  async #start(
    situation: SnapshotSituation,
    source: Volume,
    request: ReconcileContext,
  ): Promise<Result> {
    const { snapshot } = situation;
    const { uid } = snapshot.metadata;
    const { driver = '', storageClassName } = source;
    const driverParameters = this.#options.resolver.rebind(
      source.driverParameters ?? {},
      holderOf(volumes, source),
      holderOf(snapshots, snapshot),
    );
    const turn = this.#effects.turn(source);
    try {
      const captured = { ...snapshot, driver, driverParameters, storageClassName };
      await this.#effects.prepare(captured, request.signal);
    } catch (thrown) {
      // Other errors do not count as a failure of the snapshot: they are retried with the controller's backoff.
      if (thrown instanceof DriverError && errorClasses[thrown.kind] === 'final')
        return this.#failed(situation, 'Pending', thrown, timestamp(this.#options.clock), request);
      throw thrown;
    }
    const status: SnapshotStatus = {
      status: nextPhase('Pending', 'started'),
      driver,
      driverParameters,
      storageClassName,
      sizeBytes: source.sizeBytes ?? '0',
      sourceUid: source.metadata.uid,
      topology: source.topology ?? {},
      reason: 'Creating',
      failureMessage: '',
      ...(turn.type === 'waits'
        ? {
            // Failures of its node are recorded with the present inputs.
            failedWith: situation.inputs,
            ...this.#effects.condition(snapshot, 'False', waitsReason, turn.message),
          }
        : this.#effects.condition(snapshot, 'False', 'Creating', `driver ${driver} is asked`)),
    };
    await request.txn(async (txn) => {
      requireSeen(snapshots, snapshot, await txn.get(snapshots, keyOfSnapshot(snapshot)));
      const current = await txn.get(volumes, keyOfVolume(source));
      requireSeen(volumes, source, current);
      const inFlight = (current.snapshotsInFlight ?? []).filter((other) => other !== uid);
      txn.updateStatus(snapshots, keyOfSnapshot(snapshot), status);
      txn.updateStatus(volumes, keyOfVolume(source), { snapshotsInFlight: [...inFlight, uid] });
    });
    return requeueAfter(0);
  }

  /** S4 to S6, S9. */
  async #create(situation: SnapshotSituation, request: ReconcileContext): Promise<Result> {
    const { snapshot, source: known, inputs } = situation;
    const startedAt = timestamp(this.#options.clock);
    let made;
    try {
      const prepared = await this.#effects.begin(snapshot, request);
      const { driver } = prepared;
      if (snapshot.handle) made = await driver.observeSnapshot(prepared.request);
      else {
        const source = known?.handle ? known : await this.#inFlight(snapshot);
        if (!source?.handle)
          throw new DriverError('InvalidParameters', 'its source is gone; create it again');
        const { handle } = source;
        const context = { ...prepared.request, volume: identityOf(source), handle };
        const answer = await driver.createSnapshot(context);
        if (isPending(answer)) {
          return await this.#effects.goesOn(request, snapshot, 'createSnapshot', answer);
        }
        made = answer;
      }
    } catch (thrown) {
      return this.#failed(situation, 'Creating', driverErrorOf(thrown), startedAt, request);
    }
    const size = BigInt(snapshot.sizeBytes ?? '0');
    const least = made.restoreSizeBytes > size ? made.restoreSizeBytes : size;
    const copy = { handle: made.handle, restoreSize: String(least) };
    if (!made.ready) {
      if (snapshot.handle !== made.handle) await this.#effects.write(request, snapshot, copy);
      return requeueAfter(this.#options.policy.snapshotPollMs);
    }
    const readyAt = timestamp(this.#options.clock);
    await this.#effects.settle(request, snapshot, known, {
      ...copy,
      status: nextPhase('Creating', 'completed'),
      readyAt,
      reason: 'Ready',
      failureMessage: '',
      failedWith: inputs,
      lastOperation: this.#effects.operation('createSnapshot', startedAt),
      ...this.#effects.condition(
        snapshot,
        'True',
        'Ready',
        `driver ${snapshot.driver ?? ''} made it`,
      ),
    });
    return requeueAfter(0);
  }

  /** The stored source: the cache of a node's part may lag. */
  async #inFlight(snapshot: Snapshot): Promise<Volume | undefined> {
    const key = { namespace: snapshot.namespace, name: snapshot.source.volume };
    const found = await this.#options.store.get(volumes, key);
    return found?.snapshotsInFlight?.includes(snapshot.metadata.uid) ? found : undefined;
  }

  async #failed(
    { snapshot, source, inputs }: SnapshotSituation,
    from: 'Pending' | 'Creating',
    error: DriverError,
    startedAt: string,
    request: ReconcileContext,
  ): Promise<Result> {
    const attempts = (snapshot.attempts ?? 0) + 1;
    const { policy } = this.#options;
    const wanted = !isDeleting(snapshot);
    const { event, reason, message } = judgeFailure(error, attempts, policy, wanted);
    const delayMs = retryDelayMs(request, error, this.#options);
    // An unknown outcome is determined by calling again: the identity makes it the same snapshot.
    const again = event === 'failedForNow' || event === 'outcomeUnknown';
    const told = {
      attempts,
      reason,
      lastOperation: this.#effects.operation(
        'createSnapshot',
        startedAt,
        error,
        again ? delayMs : undefined,
      ),
      ...this.#effects.condition(snapshot, 'False', reason, message),
    };
    if (again) {
      await this.#effects.write(request, snapshot, told);
      return callAgain(error, delayMs);
    }
    await this.#effects.settle(request, snapshot, source, {
      ...told,
      // Tried again, it is of this volume and of no namesake.
      ...(source ? { sourceUid: source.metadata.uid } : {}),
      status: nextPhase(from, 'failedForGood'),
      failureMessage: message,
      failedWith: inputs,
    });
    // Continues a deletion from here.
    return isDeleting(snapshot) ? requeueAfter(0) : fail(reason, message);
  }

  /** S8, S10. The driver is called in the same run: a run that succeeds between two calls ends their backoff. */
  async #startDeleting(
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
    const begun = await this.#options.store.get(snapshots, keyOfSnapshot(snapshot));
    if (begun?.status !== 'Deleting' || this.#effects.turn(snapshot).type !== 'here')
      return requeueAfter(0);
    return this.#delete({ ...situation, snapshot: begun }, request);
  }

  /** S11, S12. */
  async #delete(situation: SnapshotSituation, request: ReconcileContext): Promise<Result> {
    const { snapshot } = situation;
    if (!isDeleting(snapshot)) return done();
    const startedAt = timestamp(this.#options.clock);
    try {
      const prepared = await this.#effects.begin(snapshot, request);
      const answer = await prepared.driver.deleteSnapshot(prepared.request);
      if (isPending(answer)) {
        return await this.#effects.goesOn(request, snapshot, 'deleteSnapshot', answer);
      }
    } catch (thrown) {
      const error = driverErrorOf(thrown);
      const delayMs = retryDelayMs(request, error, this.#options);
      const final = errorClasses[error.kind] === 'final';
      await this.#effects.write(request, snapshot, {
        reason: error.kind,
        lastOperation: this.#effects.operation('deleteSnapshot', startedAt, error, delayMs),
        // A node would retry a repeated request from Failed at once.
        ...(final && this.#effects.part === 'cluster'
          ? { status: nextPhase('Deleting', 'deleteFailed'), failureMessage: error.message }
          : {}),
      });
      return callAgain(error, delayMs);
    }
    if (this.#effects.part === 'node') return this.#effects.reportDeletion(request, snapshot);
    return this.#forget(snapshot, request);
  }

  #forget(snapshot: Snapshot, request: ReconcileContext): Promise<Result> {
    const { uid } = snapshot.metadata;
    this.#looks.delete(uid);
    return releaseObject(request, snapshots, snapshot, snapshotFinalizer);
  }

  #untilLook(snapshot: Snapshot): Result {
    if (snapshot.status !== 'Ready' || this.#effects.turn(snapshot).type !== 'here') return done();
    const { clock, random, policy } = this.#options;
    const { uid } = snapshot.metadata;
    const now = clock.monotonic();
    let at = this.#looks.get(uid)?.at ?? 0;
    if (at <= now) {
      at = now + policy.existenceProbeMs * (0.8 + 0.4 * random.next());
      this.#looks.set(uid, { at, missing: 0 });
    }
    return requeueAfter(at - now);
  }

  /** S13: seen absent twice. */
  async #look(situation: SnapshotSituation, request: ReconcileContext): Promise<Result> {
    const { snapshot } = situation;
    const { uid } = snapshot.metadata;
    const { clock, policy } = this.#options;
    const startedAt = timestamp(clock);
    const missing = this.#looks.get(uid)?.missing ?? 0;
    this.#looks.delete(uid);
    try {
      const prepared = await this.#effects.begin(snapshot, request);
      await prepared.driver.observeSnapshot(prepared.request);
    } catch (thrown) {
      const error = driverErrorOf(thrown);
      if (error.kind !== 'NotFound') return this.#untilLook(snapshot);
      if (missing === 0) {
        this.#looks.set(uid, { at: clock.monotonic() + policy.lossConfirmMs, missing: 1 });
        return requeueAfter(policy.lossConfirmMs);
      }
      const message = `SnapshotLost: the provider does not have it any more: ${error.message}`;
      await this.#effects.write(request, snapshot, {
        status: nextPhase('Ready', 'lost'),
        reason: 'SnapshotLost',
        failureMessage: message,
        lastOperation: this.#effects.operation('observeSnapshot', startedAt, error),
        ...this.#effects.condition(snapshot, 'False', 'SnapshotLost', message),
      });
      return done();
    }
    return this.#untilLook(snapshot);
  }
}
