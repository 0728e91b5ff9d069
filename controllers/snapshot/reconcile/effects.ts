import { keyString, type Lister, type ReconcileContext } from 'kedge';
import type { Driver, Parameters, SnapshotHandleRequest } from '@kedge/driver-sdk';
import type { ProvisionedOptions } from '../../provisioned/contract.js';
import {
  bodyOf,
  capturedBeside,
  credentialKeysOf,
  haveSameBodies,
  mergedParameters,
} from '../../provisioned/credentials.js';
import { ProvisionedEffects } from '../../provisioned/effects.js';
import { leaveInFlight } from '../../provisioned/in-flight.js';
import { requireSeen } from '../../provisioned/retries.js';
import { holderOf } from '../../secret/index.js';
import { liveClass } from '../../references/live-class.js';
import { capturedOwn } from '../../references/needed-parameters.js';
import { storageClasses } from '../../storage-class/kind.js';
import { type Volume, volumes } from '../../volume/kind.js';
import { type Snapshot, type SnapshotStatus, snapshots } from '../kind.js';
import { reportedOfSnapshot } from '../reported.js';

/** Dependencies of the snapshot controller: those of the volume controller. */
export type SnapshotControllerOptions = ProvisionedOptions;

/** Name of the controller: operations are recorded under it. */
export const controllerName = 'snapshot';

/** The status field of a volume with the snapshots that are being created from it. */
export const beingCopied = { kind: volumes, field: 'snapshotsInFlight' } as const;

/** The key of a snapshot. */
export function keyOfSnapshot(snapshot: Snapshot): { namespace: string; name: string } {
  return { namespace: snapshot.namespace, name: snapshot.name };
}

/** Adds the node to a snapshot in progress of an earlier release, which did not record it. */
export function withHome(
  snapshot: Snapshot,
  known: Pick<Snapshot, 'topology'> | undefined,
): Snapshot {
  const { topology } = snapshot;
  if (topology !== undefined && Object.keys(topology).length > 0) return snapshot;
  return known?.topology === undefined ? snapshot : { ...snapshot, topology: known.topology };
}

/** A driver with the inputs of a call. */
export interface PreparedCall {
  readonly driver: Driver;
  readonly request: SnapshotHandleRequest;
}

type SnapshotField = (typeof snapshots)['statusFields'][number];

/** Shared by the parts of the snapshot controller: status writes and driver calls. */
export class SnapshotEffects extends ProvisionedEffects<Snapshot, SnapshotField, SnapshotStatus> {
  constructor(options: SnapshotControllerOptions) {
    super(options, {
      kind: snapshots,
      controller: controllerName,
      reported: reportedOfSnapshot,
      madeCondition: 'Ready',
    });
  }

  /** Writes the snapshot's status and releases its source, in one transaction. */
  settle(
    context: ReconcileContext,
    snapshot: Snapshot,
    source: Volume | undefined,
    status: SnapshotStatus,
  ): Promise<void> {
    // A node's part only reports: the cluster part releases the source.
    if (this.part === 'node') return this.write(context, snapshot, status);
    const { uid } = snapshot.metadata;
    const key = keyOfSnapshot(snapshot);
    return context.txn(async (txn) => {
      requireSeen(snapshots, snapshot, await txn.get(snapshots, key));
      txn.updateStatus(snapshots, key, status);
      if (source) await leaveInFlight(txn, beingCopied, source, uid);
    });
  }

  /**
   * Like {@link prepare}, for an immediate call.
   * @throws StatusError Aborted if the snapshot's owner changed since it was read
   */
  async begin(snapshot: Snapshot, request: ReconcileContext): Promise<PreparedCall> {
    const prepared = await this.prepare(snapshot, request.signal);
    await this.requireOwned(snapshot, (found) => withHome(found, snapshot));
    return prepared;
  }

  /**
   * Resolves the driver and the inputs of a call: placement as captured, credentials from the live class.
   * @throws DriverError
   */
  async prepare(snapshot: Snapshot, signal: AbortSignal): Promise<PreparedCall> {
    const { manager, node } = this.options;
    const { driver = '', driverParameters = {}, ownParameters = [] } = snapshot;
    const { storageClassName = '' } = snapshot;
    const live = manager.informer(storageClasses).lister.get(storageClassName);
    const parameters = this.#ownParameters(snapshot);
    const captured = { driver, driverParameters, ownParameters, storageClassName, parameters };
    const call = await this.resolve(snapshot, captured, live);
    const { uid } = snapshot.metadata;
    const request = {
      snapshot: { uid, ...keyOfSnapshot(snapshot) },
      handle: snapshot.handle || undefined,
      parameters: call.resolved,
      node,
      signal,
      operations: this.operations(snapshot),
    };
    return { driver: call.driver, request };
  }

  /**
   * Captures the parameters that the source itself has now, such as a renewed credential, because the source may be
   * deleted before its snapshot. A credential that the source lost is replaced by that of the class. A failed creation is
   * repeated with them. Returns whether they differed.
   */
  async captureOwn(
    request: ReconcileContext,
    snapshot: Snapshot,
    source: Volume | undefined,
  ): Promise<boolean> {
    const { driverParameters, ownParameters = [], status } = snapshot;
    if (this.part === 'node' || !source || !driverParameters) return false;
    const own = source.parameters ?? {};
    const names = Object.keys(own);
    const isCaptured = (name: string): boolean =>
      ownParameters.includes(name) &&
      bodyOf(own[name] ?? '') === bodyOf(driverParameters[name] ?? '');
    const isRecorded = snapshot.ownParameters !== undefined;
    const isKnown = names.length === ownParameters.length && names.every(isCaptured);
    if (isKnown && isRecorded) return false;
    const driver = await this.options.drivers.get(snapshot.driver ?? '');
    // Without the driver it is unknown which of them are credentials.
    if (!driver) return false;
    const renewed = this.#renewed(snapshot, source, driver);
    // An earlier release did not record them: what the source had lost by then is still captured.
    if (isKnown && haveSameBodies(renewed, driverParameters)) return false;
    await this.write(request, snapshot, {
      driverParameters: renewed,
      ownParameters: names,
      ...(status === 'Failed' ? { failedWith: '' } : {}),
    });
    return true;
  }

  /**
   * The captured parameters with those that the source has itself now. Credentials that it lost are replaced by those of
   * the class. Without a class and other credentials they stay: nothing else could delete the snapshot.
   */
  #renewed(snapshot: Snapshot, source: Volume, driver: Driver): Parameters {
    const { storageClassName = '' } = snapshot;
    const own = this.#reboundOf(source, snapshot);
    const named = this.options.manager.informer(storageClasses).lister.get(storageClassName);
    const storageClass = liveClass(snapshot, named);
    if (!storageClass) return { ...capturedBeside(driver, snapshot, own), ...own };
    const keys = credentialKeysOf(driver);
    const ofClass = this.options.resolver.rebind(
      storageClass.parameters ?? {},
      holderOf(storageClasses, { name: storageClassName }),
      holderOf(snapshots, snapshot),
    );
    const merged = Object.entries(mergedParameters(driver, ofClass, own, snapshot));
    const place = Object.entries(snapshot.driverParameters ?? {}).filter(([key]) => !keys.has(key));
    const credentials = merged.filter(([key]) => keys.has(key));
    return { ...Object.fromEntries([...place, ...credentials]), ...own };
  }

  /**
   * The parameters that the source has itself, or had when they were captured last: a credential among them comes before
   * that of the class, which may be for another account.
   */
  #ownParameters(snapshot: Snapshot): Parameters {
    const source = sourceIn(this.options.manager.informer(volumes).lister, snapshot);
    return source ? this.#reboundOf(source, snapshot) : capturedOwn(snapshot);
  }

  /**
   * The parameters of the source for a new snapshot: those captured for it, without credentials that it has lost since,
   * and those that it has itself now.
   */
  async capturedOf(snapshot: Snapshot, source: Volume): Promise<Parameters> {
    const { drivers, resolver } = this.options;
    const [from, to] = [holderOf(volumes, source), holderOf(snapshots, snapshot)];
    const driverParameters = resolver.rebind(source.driverParameters ?? {}, from, to);
    const own = this.#reboundOf(source, snapshot);
    const driver = await drivers.get(source.driver ?? '');
    if (!driver) return driverParameters;
    const { ownParameters } = source;
    const kept = capturedBeside(driver, { driverParameters, ownParameters }, own);
    return { ...kept, ...own };
  }

  #reboundOf(source: Volume, snapshot: Snapshot): Parameters {
    const [from, to] = [holderOf(volumes, source), holderOf(snapshots, snapshot)];
    return this.options.resolver.rebind(source.parameters ?? {}, from, to);
  }
}

/** The source of a snapshot; undefined if it was deleted. A later volume of its name is another one. */
export function sourceIn(
  lister: Pick<Lister<Volume>, 'get'>,
  { namespace = '', source, sourceUid = '' }: Snapshot,
): Volume | undefined {
  const named = lister.get(keyString({ namespace, name: source.volume }));
  return sourceUid === '' || named?.metadata.uid === sourceUid ? named : undefined;
}
