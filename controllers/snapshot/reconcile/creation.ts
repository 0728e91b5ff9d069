import { fail, isDeleting, type ReconcileContext, requeueAfter, type Result } from 'kedge';
import { DriverError, errorClasses, isPending } from '@kedge/driver-sdk';
import { waitsReason } from '../../provisioned/conditions.js';
import { identityOf } from '../../provisioned/driver-call.js';
import { enterInFlight } from '../../provisioned/in-flight.js';
import { callAgain, driverErrorOf } from '../../provisioned/retries.js';
import { type Volume, volumes } from '../../volume/kind.js';
import { beingCopied, type SnapshotEffects } from './effects.js';
import { type Snapshot, type SnapshotStatus, snapshots } from '../kind.js';
import { nextPhase } from '../phases.js';
import type { SnapshotSituation } from '../plan.js';

/** Transitions from Pending to a known outcome: S3 to S6, S9. */
export class SnapshotCreation {
  readonly #effects: SnapshotEffects;

  constructor(effects: SnapshotEffects) {
    this.#effects = effects;
  }

  /**
   * S3: one transaction writes snapshot and source, so that the source is not deleted during the copy. The secrets are
   * resolved before it: if that fails, the snapshot has no captured driver, and its deletion calls none.
   */
  async start(
    situation: SnapshotSituation,
    source: Volume,
    request: ReconcileContext,
  ): Promise<Result> {
    const { snapshot } = situation;
    const { driver = '', storageClassName } = source;
    const driverParameters = await this.#effects.capturedOf(snapshot, source);
    const ownParameters = Object.keys(source.parameters ?? {});
    const caller = this.#effects.callingProcess(source);
    try {
      const captured = { ...snapshot, driver, driverParameters, storageClassName, ownParameters };
      await this.#effects.prepare(captured, request.signal);
    } catch (thrown) {
      // Other errors do not count as a failure of the snapshot: they are retried with the controller's backoff.
      if (thrown instanceof DriverError && errorClasses[thrown.kind] === 'final')
        return this.#failed(situation, 'Pending', thrown, this.#effects.now, request);
      throw thrown;
    }
    const status: SnapshotStatus = {
      status: nextPhase('Pending', 'started'),
      driver,
      driverParameters,
      ownParameters,
      storageClassName,
      sizeBytes: source.sizeBytes ?? '0',
      sourceUid: source.metadata.uid,
      topology: source.topology ?? {},
      reason: 'Creating',
      failureMessage: '',
      ...(caller.type === 'waits'
        ? {
            // Failures of its node are recorded with the present inputs.
            failedWith: situation.inputs,
            ...this.#effects.made(snapshot, 'False', waitsReason, caller.message),
          }
        : this.#effects.made(
            snapshot,
            'False',
            'Creating',
            `driver ${driver} is creating the snapshot`,
          )),
    };
    const intent = { kind: snapshots, object: snapshot, status };
    await enterInFlight(request, intent, beingCopied, source);
    return requeueAfter(0);
  }

  /** S4 to S6, S9: calls the driver to create or observe the snapshot, and writes the outcome. */
  async create(situation: SnapshotSituation, request: ReconcileContext): Promise<Result> {
    const { snapshot, source: known, inputs } = situation;
    const startedAt = this.#effects.now;
    let made;
    try {
      const prepared = await this.#effects.begin(snapshot, request);
      const { driver } = prepared;
      if (snapshot.handle) made = await driver.observeSnapshot(prepared.request);
      else {
        const source = known?.handle ? known : await this.#inFlight(snapshot);
        if (!source?.handle)
          throw new DriverError(
            'InvalidParameters',
            'its source does not exist any more; delete this snapshot',
          );
        const { handle } = source;
        const context = { ...prepared.request, volume: identityOf(source), handle };
        const answer = await driver.createSnapshot(context);
        if (isPending(answer)) {
          return await this.#effects.reportInProgress(request, snapshot, 'createSnapshot', answer);
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
      return requeueAfter(this.#effects.options.policy.snapshotPollMs);
    }
    const readyAt = this.#effects.now;
    await this.#effects.settle(request, snapshot, known, {
      ...copy,
      status: nextPhase('Creating', 'completed'),
      readyAt,
      reason: 'Ready',
      failureMessage: '',
      failedWith: inputs,
      ...this.#effects.succeeded('createSnapshot', startedAt),
      ...this.#effects.made(
        snapshot,
        'True',
        'Ready',
        `driver ${snapshot.driver ?? ''} created the snapshot`,
      ),
    });
    return requeueAfter(0);
  }

  /**
   * Reads the source from the store, because the cache of a node's part may be behind it. Undefined unless the source
   * is reserved for the snapshot.
   */
  async #inFlight(snapshot: Snapshot): Promise<Volume | undefined> {
    const key = { namespace: snapshot.namespace, name: snapshot.source.volume };
    const found = await this.#effects.options.store.get(volumes, key);
    return found?.snapshotsInFlight?.includes(snapshot.metadata.uid) ? found : undefined;
  }

  async #failed(
    { snapshot, source, inputs }: SnapshotSituation,
    from: 'Pending' | 'Creating',
    error: DriverError,
    startedAt: string,
    request: ReconcileContext,
  ): Promise<Result> {
    // An unknown outcome is determined by calling again: the identity makes it the same snapshot.
    const classified = this.#effects.classified(
      request,
      snapshot,
      { call: 'createSnapshot', startedAt, error },
      { unknownMs: 0, finalMs: undefined },
    );
    const { reason, message, againMs, report } = classified;
    // With the wait ended by a user, the snapshot is deleted without the outcome.
    if (againMs !== undefined && !this.#effects.isAbandoned(snapshot, error)) {
      await this.#effects.write(request, snapshot, report);
      return callAgain(error, againMs);
    }
    await this.#effects.settle(request, snapshot, source, {
      ...report,
      // A retry uses this volume, never another one of the same name.
      ...(source ? { sourceUid: source.metadata.uid } : {}),
      status: nextPhase(from, 'failedForGood'),
      failureMessage: message,
      failedWith: inputs,
    });
    // The next reconcile continues the deletion.
    return isDeleting(snapshot) ? requeueAfter(0) : fail(reason, message);
  }
}
