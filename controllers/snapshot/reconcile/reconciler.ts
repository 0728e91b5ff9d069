import { createHash } from 'node:crypto';
import { done, type ReconcileContext, requeueAfter, type Result } from 'kedge';
import type { Parameters } from '@kedge/driver-sdk';
import type { GoneNodes } from '../../node/gone-nodes.js';
import { bodyOf } from '../../provisioned/credentials.js';
import { secretVersions } from '../../provisioned/inputs.js';
import { hasOpenCall } from '../../provisioned/operations.js';
import { Probes } from '../../provisioned/probes.js';
import { driverErrorOf } from '../../provisioned/retries.js';
import { type StorageClass, storageClasses } from '../../storage-class/kind.js';
import { liveClass } from '../../references/live-class.js';
import { type Volume, volumes } from '../../volume/kind.js';
import { SnapshotEffects, type SnapshotControllerOptions, sourceIn, withHome } from './effects.js';
import { Handover } from './handover.js';
import { type Snapshot, snapshots } from '../kind.js';
import { SnapshotCreation } from './creation.js';
import { nextPhase } from '../phases.js';
import { dependsOnCalls, planSnapshot, type SnapshotSituation } from '../plan.js';
import { Removal } from './removal.js';
import type { Reason } from '../../reasons/index.js';

/** Delay before a rate-limited probe is repeated if the error names no time, milliseconds. */
const throttledMs = 60_000;

/** Effects of the snapshot state machine; decisions are in plan.ts. */
export class SnapshotReconciler {
  readonly #options: SnapshotControllerOptions;
  readonly #effects: SnapshotEffects;
  readonly #handover: Handover;
  readonly #making: SnapshotCreation;
  readonly #removal: Removal;
  readonly #probes: Probes;
  /** Uids of snapshots that the last probe did not find. */
  readonly #missing = new Set<string>();

  constructor(options: SnapshotControllerOptions, gone: GoneNodes) {
    this.#options = options;
    this.#effects = new SnapshotEffects(options);
    this.#making = new SnapshotCreation(this.#effects);
    this.#removal = new Removal(this.#effects);
    this.#probes = new Probes(options);
    this.#handover = new Handover(this.#effects, gone);
  }

  async reconcile(request: ReconcileContext): Promise<Result> {
    const snapshot = await this.#options.store.get(snapshots, request.key);
    if (!snapshot) return done();
    const situation = await this.#situation(snapshot);
    if (await this.#effects.captureOwn(request, snapshot, situation.source)) return requeueAfter(0);
    const isSettled = snapshot.status === 'Ready' || snapshot.status === 'Failed';
    if (isSettled && this.#effects.callingProcess(situation.snapshot).type === 'waits')
      await this.#handover.releaseSource(snapshot, request);
    const action = planSnapshot(situation);
    if (this.#effects.part === 'node' && !this.#handover.isAsked(situation.snapshot, action))
      return done();
    const waits = this.#handover.waitsFor(situation, action);
    if (waits) return this.#handover.wait(situation, action, waits, request);
    switch (action.type) {
      case 'none':
        return this.#untilProbe(snapshot);
      case 'wait':
        return this.#wait(request, snapshot, action.reason, action.message);
      case 'waitForRestores':
        return this.#wait(
          request,
          snapshot,
          'RestoreInFlight',
          `number of volumes that are being restored from it: ${snapshot.restoresInFlight?.length ?? 0}; it is deleted afterwards`,
        );
      case 'start':
        return this.#making.start(situation, action.source, request);
      case 'create':
        return this.#making.create(situation, request);
      case 'retry':
        await this.#effects.write(request, snapshot, {
          status: nextPhase('Failed', 'retried'),
          attempts: 0,
          failureMessage: '',
          failedWith: '',
          reason: 'Retried',
        });
        return requeueAfter(0);
      case 'probe':
        return this.#probe(situation, request);
      case 'startDeleting':
        this.#forgetProbes(snapshot);
        return this.#removal.start(situation, action.status, request);
      case 'delete':
        return this.#removal.delete(situation, request);
      case 'forget':
        this.#forgetProbes(snapshot);
        return this.#removal.forget(snapshot, request);
    }
  }

  async #situation(given: Snapshot): Promise<SnapshotSituation> {
    const { manager } = this.#options;
    const { lister } = manager.informer(volumes);
    const named = lister.get(`${given.namespace}/${given.source.volume}`);
    const source = sourceIn(lister, given);
    const snapshot = given.status === 'Pending' ? given : withHome(given, source);
    const className = snapshot.storageClassName ?? named?.storageClassName ?? '';
    const ofName = manager.informer(storageClasses).lister.get(className);
    const storageClass = liveClass(snapshot, ofName);
    // A snapshot without captured parameters depends on those of its source.
    const captured = snapshot.driverParameters ?? source?.driverParameters;
    const inputs = [
      `snapshot@${snapshot.metadata.generation}`,
      ...secretVersions(manager, { ...storageClass?.parameters, ...captured }, snapshot),
      ...this.#changes(this.#given(storageClass, source, captured), captured, snapshot),
    ].join(' ');
    const probeDue = this.#probes.isDue(snapshot.metadata.uid);
    const isOpen =
      dependsOnCalls(snapshot) && (await hasOpenCall(snapshot, this.#effects.operations(snapshot)));
    return { snapshot, source, inputs, probeDue, hasOpenCall: isOpen };
  }

  /**
   * The parameters that the class and the source give now. One that was captured and that neither gives any more is empty,
   * such as a session token; the captured ones serve without the class.
   */
  #given(
    storageClass: StorageClass | undefined,
    source: Volume | undefined,
    captured: Parameters = {},
  ): Parameters {
    const lost = storageClass ? Object.keys(captured).map((key) => [key, ''] as const) : [];
    return { ...Object.fromEntries(lost), ...storageClass?.parameters, ...source?.parameters };
  }

  /**
   * The parameters of the class and the source that changed since they were captured, such as another credential, as
   * inputs of a failure. None if nothing changed: such a failure has the same inputs as one that an earlier release
   * recorded.
   */
  #changes(
    parameters: Parameters,
    captured: Parameters = {},
    snapshot: Snapshot,
  ): readonly string[] {
    const changed = Object.entries(parameters).filter(
      ([key, value]) => bodyOf(value) !== bodyOf(captured[key] ?? ''),
    );
    if (changed.length === 0) return [];
    const text = changed.map(([key, value]) => `${key}=${bodyOf(value)}`).sort();
    const digest = createHash('sha256').update(text.join('\n')).digest('hex').slice(0, 16);
    const versions = secretVersions(this.#options.manager, Object.fromEntries(changed), snapshot);
    return [`class@${digest}`, ...versions];
  }

  #wait(
    request: ReconcileContext,
    snapshot: Snapshot,
    reason: Reason,
    message: string,
  ): Promise<Result> {
    const waits = { type: 'Ready', reason, message };
    return this.#effects.waitFor(request, snapshot, waits, { reason });
  }

  #untilProbe(snapshot: Snapshot): Result {
    if (snapshot.status !== 'Ready' || this.#effects.callingProcess(snapshot).type !== 'here')
      return done();
    return this.#probes.untilNext(snapshot.metadata.uid);
  }

  #forgetProbes({ metadata: { uid } }: Snapshot): void {
    this.#probes.forget(uid);
    this.#missing.delete(uid);
  }

  /** S13: two probes found it absent. */
  async #probe(situation: SnapshotSituation, request: ReconcileContext): Promise<Result> {
    const { snapshot } = situation;
    const { uid } = snapshot.metadata;
    const startedAt = this.#effects.now;
    this.#probes.forget(uid);
    try {
      const prepared = await this.#effects.begin(snapshot, request);
      await prepared.driver.observeSnapshot({ ...prepared.request, isBackground: true });
    } catch (thrown) {
      const error = driverErrorOf(thrown);
      if (error.kind === 'Throttled')
        return this.#probes.in(uid, error.retryAfterMs ?? throttledMs);
      if (error.kind !== 'NotFound') {
        this.#missing.delete(uid);
        return this.#untilProbe(snapshot);
      }
      if (!this.#missing.delete(uid)) {
        this.#missing.add(uid);
        return this.#probes.in(uid, this.#options.policy.lossConfirmMs);
      }
      const message = `SnapshotLost: the provider no longer has the snapshot: ${error.message}`;
      await this.#effects.write(request, snapshot, {
        status: nextPhase('Ready', 'lost'),
        reason: 'SnapshotLost',
        failureMessage: message,
        ...this.#effects.failed('observeSnapshot', startedAt, error),
        ...this.#effects.made(snapshot, 'False', 'SnapshotLost', message),
      });
      return done();
    }
    this.#missing.delete(uid);
    return this.#untilProbe(snapshot);
  }
}
