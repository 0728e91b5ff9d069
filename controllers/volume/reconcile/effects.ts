import type { Lister, ReconcileContext, Result, Transaction } from 'kedge';
import type { CallContext, Driver, Parameters } from '@kedge/driver-sdk';
import { identityOf } from '../../provisioned/driver-call.js';
import type { ProvisionedOptions } from '../../provisioned/contract.js';
import { ProvisionedEffects } from '../../provisioned/effects.js';
import { type StorageClass, storageClasses } from '../../storage-class/kind.js';
import { type Volume, type VolumeStatus, volumes } from '../kind.js';
import { isDeletionAsked } from '../states/deletion-report.js';
import type { VolumeSituation } from '../states/plan.js';
import { withoutReserved } from './nodes-of-volume.js';
import { reportedOfVolume } from '../states/reported.js';

/** Dependencies of the volume controller. */
export type VolumeControllerOptions = ProvisionedOptions;

/** Name of the controller: operations are recorded under it. */
export const controllerName = 'volume';

/** The key of a volume. */
export function keyOfVolume(volume: Volume): { namespace: string; name: string } {
  return { namespace: volume.namespace, name: volume.name };
}

/** A driver with the inputs of a call. */
export interface PreparedCall {
  readonly driver: Driver;
  /** Parameters with unresolved secret references, which may be stored. */
  readonly parameters: Parameters;
  readonly context: CallContext;
}

type VolumeField = (typeof volumes)['statusFields'][number];

/** Shared by the parts of the volume controller: status writes and driver calls. */
export class VolumeEffects extends ProvisionedEffects<Volume, VolumeField, VolumeStatus> {
  /**
   * Values of `missingSince` that a node's part wrote, because the API does not return them to it, by uid of the
   * volume.
   */
  readonly #missingSince = new Map<string, string>();

  constructor(options: VolumeControllerOptions) {
    super(options, {
      kind: volumes,
      controller: controllerName,
      reported: reportedOfVolume,
      madeCondition: 'Provisioned',
    });
  }

  override async write(
    context: ReconcileContext,
    volume: Volume,
    status: VolumeStatus,
    also?: (txn: Transaction) => Promise<void>,
  ): Promise<void> {
    const { uid } = volume.metadata;
    if (this.part === 'node' && status.missingSince)
      this.#missingSince.set(uid, status.missingSince);
    else if (status.missingSince === '') this.#missingSince.delete(uid);
    await super.write(context, volume, status, also);
  }

  /**
   * The volume as a node's part plans it: with the `missingSince` that the API does not return, and with `neverUsed`
   * exactly if a deletion was requested.
   */
  recalled(volume: Volume): Volume {
    const missingSince = this.#missingSince.get(volume.metadata.uid);
    // On a node, `neverUsed` deletes the data regardless of the reclaim policy: the cluster part applied the policy
    // before it requested the deletion.
    const { neverUsed: _, ...known } = volume;
    const asked = isDeletionAsked(volume) ? { neverUsed: true } : {};
    return { ...known, ...asked, ...(missingSince === undefined ? {} : { missingSince }) };
  }

  override reportDeletion(context: ReconcileContext, volume: Volume): Promise<Result> {
    this.#missingSince.delete(volume.metadata.uid);
    return super.reportDeletion(context, volume);
  }

  /**
   * Like {@link prepare}, for an immediate call.
   * @param node the node of a forced detach
   * @throws StatusError Aborted if the volume's owner changed since it was read
   */
  async begin(
    request: ReconcileContext,
    situation: VolumeSituation,
    node?: string,
  ): Promise<PreparedCall> {
    const prepared = await this.prepare(situation, request.signal, node);
    await this.requireOwned(situation.volume, (found) =>
      node === undefined ? found : withoutReserved(found, node),
    );
    return prepared;
  }

  /** Resolves the driver, the parameters and the present secrets of a call. @throws DriverError */
  async prepare(
    { volume, storageClass }: VolumeSituation,
    signal: AbortSignal,
    node: string = this.options.node,
  ): Promise<PreparedCall> {
    const { driver, parameters, resolved } = await this.resolve(volume, volume, storageClass);
    const context: CallContext = {
      volume: identityOf(volume),
      parameters: resolved,
      node,
      signal,
      operations: this.operations(volume, node),
    };
    return { driver, parameters, context };
  }

  /** The cached classes. */
  classes(): Lister<StorageClass> {
    return this.options.manager.informer(storageClasses).lister;
  }
}
