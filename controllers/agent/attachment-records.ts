import {
  type Clock,
  hasCode,
  modifyStatus,
  type ObjectStore,
  setCondition,
  timestamp,
} from 'kedge';
import { DriverError } from '@kedge/driver-sdk';
import { type Attachment, type Volume, type VolumePhase, volumes } from '../kinds/index.js';
import {
  detached,
  fileSystemPending,
  keyOfVolume,
  nextPhase,
  type NextVolumePhase,
} from '../volume/index.js';
import type { PreparedMount } from './node-volumes.js';
import { OwnAttachments } from './own-attachments.js';

/** What {@link AttachmentRecords} works with. */
export interface AttachmentRecordsOptions {
  readonly store: ObjectStore;
  readonly node: string;
  readonly clock: Clock;
}

/** What the node writes into a volume's status: who holds it, how far it came, what went wrong. */
export class AttachmentRecords {
  readonly #options: AttachmentRecordsOptions;
  /** What was reserved through these records. */
  readonly own = new OwnAttachments();

  constructor(options: AttachmentRecordsOptions) {
    this.#options = options;
  }

  /** Before any driver call: of two claims on one version of the volume only one gets through. */
  async reserve(volume: Volume, claim: string): Promise<void> {
    if ((volume.attachments ?? []).some((a) => a.claim === claim)) return;
    const mine: Attachment = { claim, node: this.#options.node, state: 'Reserved' };
    const { uid, resourceVersion } = volume.metadata;
    const attachments = [...(volume.attachments ?? []), mine];
    const { store } = this.#options;
    const key = keyOfVolume(volume);
    try {
      await store.updateStatus(volumes, key, { attachments }, { uid, resourceVersion });
      this.own.add(volume, claim);
    } catch (error) {
      // It may have happened: then it is let go of as one that did.
      if (hasCode(error, 'Unavailable')) this.own.add(volume, claim);
      throw error;
    }
  }

  /**
   * V11, V14, V20: attached and mounted is Bound.
   * @throws DriverError Unavailable when it can't be bound any more: it was lost meanwhile, say
   */
  async bound(volume: Volume, claim: string, prepared: PreparedMount): Promise<void> {
    const { store, clock, node } = this.#options;
    const { devicePath, formatted } = prepared;
    const now = timestamp(clock);
    await modifyStatus(store, volumes, keyOfVolume(volume), (current) => {
      if (current.metadata.uid !== volume.metadata.uid) return undefined;
      const all = current.attachments ?? [];
      const mine = all.find((a) => a.claim === claim);
      // Taken away by hand meanwhile: that stands.
      if (mine?.state === 'Detaching') return undefined;
      const resized = resizeChange(volume, current, prepared.fileSystemPending);
      const known = mine?.state === 'Attached' && current.status === 'Bound' && !resized;
      if (known && mine.devicePath === devicePath && (current.formatted === true) === formatted)
        return undefined;
      const attached: Attachment = { claim, node, state: 'Attached', devicePath, attachedAt: now };
      const others = all.filter((a) => a.claim !== claim);
      const bound = {
        type: 'Bound',
        status: 'True' as const,
        reason: 'Bound',
        message: `bound to ${claim}`,
      };
      const conditions = setCondition(current.conditions, bound, now);
      return {
        status: phaseOfBound(current),
        boundClaim: current.boundClaim || claim,
        boundNode: node,
        reason: 'Bound',
        failureMessage: '',
        // Once true it stays: nothing makes a formatted device blank again but loss.
        formatted: current.formatted === true || formatted,
        attachments: [...others, attached],
        conditions: resized ? setCondition(conditions, resized, now) : conditions,
      };
    });
  }

  /** What `kedge volume explain` tells; and V13, V18: an unknown outcome is Stalled. */
  async failed(volume: Volume, call: string, error: DriverError): Promise<void> {
    const { store, clock } = this.#options;
    const now = timestamp(clock);
    await modifyStatus(store, volumes, keyOfVolume(volume), (current) => {
      if (current.metadata.uid !== volume.metadata.uid) return undefined;
      const { status = 'Pending', lastOperation } = current;
      const unknown = error.kind === 'Timeout' ? phaseOfUnknown(status) : undefined;
      const same = lastOperation?.call === call && lastOperation.message === error.message;
      if (unknown === undefined && same) return undefined;
      return {
        lastOperation: {
          call,
          startedAt: now,
          outcome: error.kind,
          message: error.message,
          nextTryAt: '',
        },
        ...(unknown === undefined
          ? {}
          : { status: unknown, reason: error.kind, failureMessage: error.message }),
      };
    });
  }

  /** The file system has grown to the size that `volume` had. */
  async grown(volume: Volume): Promise<void> {
    const now = timestamp(this.#options.clock);
    await modifyStatus(this.#options.store, volumes, keyOfVolume(volume), (current) => {
      const resized = resizeChange(volume, current, false);
      return resized ? { conditions: setCondition(current.conditions, resized, now) } : undefined;
    });
  }

  /** V15, V20: the claim is gone; the last one leaves the volume Available. */
  async released(volume: Volume, claim: string): Promise<void> {
    const now = timestamp(this.#options.clock);
    await modifyStatus(this.#options.store, volumes, keyOfVolume(volume), (current) => {
      if (current.metadata.uid !== volume.metadata.uid) return undefined;
      const left = (current.attachments ?? []).filter((a) => a.claim !== claim);
      const message = `released by ${claim}`;
      const unbound = { type: 'Bound', status: 'False' as const, reason: 'Unbound', message };
      return {
        ...detached(current, left),
        ...(left.length > 0 ? {} : { conditions: setCondition(current.conditions, unbound, now) }),
      };
    });
    this.own.remove(volume, claim);
  }
}

/** @throws DriverError Unavailable for a volume that can't become Bound. */
function phaseOfBound({ namespace, name, status = 'Pending' }: Volume): NextVolumePhase {
  if (status === 'Available' || status === 'Bound' || status === 'Stalled')
    return nextPhase(status, 'bound');
  throw new DriverError('Unavailable', `volume "${namespace}/${name}" became ${status} meanwhile`);
}

/** V13, V18; undefined where an unknown outcome changes nothing. */
function phaseOfUnknown(status: VolumePhase): NextVolumePhase | undefined {
  if (status === 'Available') return nextPhase(status, 'attachUnknown');
  return status === 'Bound' ? nextPhase(status, 'detachUnknown') : undefined;
}

type NewCondition = Parameters<typeof setCondition>[1];

/**
 * The condition to write after a mount that began when the volume was as in `begun`; undefined for none.
 * A volume that grew meanwhile still waits, whatever that mount says.
 */
function resizeChange(begun: Volume, current: Volume, pending: boolean): NewCondition | undefined {
  if (fileSystemPending(current) === pending) return undefined;
  if (!pending && current.sizeBytes !== begun.sizeBytes) return undefined;
  return {
    type: 'FileSystemResizePending',
    status: pending ? 'True' : 'False',
    reason: pending ? 'WaitsForMount' : 'Resized',
    message: pending ? 'the file system grows at the next mount' : '',
  };
}
