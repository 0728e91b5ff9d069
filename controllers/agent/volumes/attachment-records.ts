import { type Clock, hasCode, type ObjectStore, runTxn, timestamp, type Transaction } from 'kedge';
import { DriverError } from '@kedge/driver-sdk';
import {
  type Attachment,
  type Volume,
  type VolumePhase,
  type VolumeStatus,
  volumes,
} from '../../volume/kind.js';
import {
  detached,
  fileSystemPending,
  keyOfVolume,
  nextPhase,
  type NextVolumePhase,
} from '../../volume/index.js';
import { callsReport } from '../../provisioned/provider-calls.js';
import { type NewCondition, setCondition } from '../../reasons/index.js';
import { type MountObstacle, obstacleOf } from './mount-obstacle.js';
import type { PreparedMount } from './node-volumes.js';
import { OwnAttachments } from './own-attachments.js';

/** Options of {@link AttachmentRecords}. */
export interface AttachmentRecordsOptions {
  readonly store: ObjectStore;
  readonly node: string;
  readonly clock: Clock;
}

/** Writes the node's part of a volume's status: attachments, progress, failures. */
export class AttachmentRecords {
  readonly #options: AttachmentRecordsOptions;
  /** The reservations of this process. */
  readonly own = new OwnAttachments();

  constructor(options: AttachmentRecordsOptions) {
    this.#options = options;
  }

  /**
   * Reserves the volume before any driver call. The commit checks the obstacles again, so that only one of two claims
   * succeeds. The checks include the attachments of `twins`, the other volumes with the same storage.
   * @returns the obstacle; undefined once the volume is reserved
   * @throws DriverError Unavailable if the volume was deleted or recreated
   */
  async reserve(
    volume: Volume,
    claim: string,
    twins: readonly Volume[],
  ): Promise<MountObstacle | undefined> {
    const { store, node } = this.#options;
    const key = keyOfVolume(volume);
    const mine: Attachment = { claim, node, state: 'Reserved' };
    const work = async (txn: Transaction): Promise<MountObstacle | undefined> => {
      const current = await txn.get(volumes, key);
      if (current?.metadata.uid !== volume.metadata.uid) throw gone(volume);
      const sharing = [];
      for (const twin of twins) {
        const now = await txn.get(volumes, keyOfVolume(twin), { watching: ['attachments'] });
        if (now) sharing.push(now);
      }
      const obstacle = obstacleOf(current, { claim, node }, sharing);
      if (obstacle) return obstacle;
      const all = current.attachments ?? [];
      if (!all.some((a) => a.claim === claim && a.node === node))
        txn.updateStatus(volumes, key, { attachments: [...all, mine] });
      return undefined;
    };
    try {
      const obstacle = await runTxn(store, work);
      if (!obstacle) this.own.add(volume, claim);
      return obstacle;
    } catch (error) {
      // The write may have been committed: it is released like a committed one.
      if (hasCode(error, 'Unavailable')) this.own.add(volume, claim);
      throw error;
    }
  }

  /**
   * V11, V14, V20: marks an attached and mounted volume as Bound.
   * @throws DriverError Unavailable if it can't be bound any more, for example because it was lost
   */
  bound(volume: Volume, claim: string, prepared: PreparedMount): Promise<void> {
    const { store, clock, node } = this.#options;
    const { devicePath, formatted } = prepared;
    const now = timestamp(clock);
    const key = keyOfVolume(volume);
    return runTxn(store, async (txn) => {
      const current = await txn.get(volumes, key);
      if (current?.metadata.uid !== volume.metadata.uid) throw gone(volume);
      const all = current.attachments ?? [];
      const mine = all.find((a) => a.claim === claim && a.node === node);
      // It was force-detached meanwhile and may have another holder.
      if (!mine || mine.state === 'Detaching')
        throw new DriverError(
          'Unavailable',
          `it was force-detached from ${claim} on node ${node} meanwhile`,
        );
      const resized = resizeChange(volume, current, prepared.fileSystemPending);
      const known = mine.state === 'Attached' && current.status === 'Bound' && !resized;
      if (known && mine.devicePath === devicePath && (current.formatted === true) === formatted)
        return;
      const attached: Attachment = { claim, node, state: 'Attached', devicePath, attachedAt: now };
      const bound = {
        type: 'Bound',
        status: 'True' as const,
        reason: 'Bound' as const,
        message: `bound to ${claim}`,
      };
      const conditions = setCondition(current.conditions, bound, now);
      txn.updateStatus(volumes, key, {
        status: phaseOfBound(current),
        boundClaim: current.boundClaim || claim,
        boundNode: node,
        reason: 'Bound',
        failureMessage: '',
        // Stays true: only a loss makes a formatted device blank again.
        formatted: current.formatted === true || formatted,
        attachments: [...all.filter((a) => a !== mine), attached],
        conditions: resized ? setCondition(conditions, resized, now) : conditions,
      });
    });
  }

  /** Records a failed call for `kedge volume explain`. V13, V18: an unknown outcome makes the volume Stalled. */
  failed(volume: Volume, call: string, error: DriverError): Promise<void> {
    const now = timestamp(this.#options.clock);
    return this.#change(volume, ({ status = 'Pending', lastOperation }) => {
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
          ...callsReport(error.calls),
        },
        ...(unknown === undefined
          ? {}
          : { status: unknown, reason: error.kind, failureMessage: error.message }),
      };
    });
  }

  /** Records that the file system has grown to the size in `volume`. */
  grown(volume: Volume): Promise<void> {
    const now = timestamp(this.#options.clock);
    return this.#change(volume, (current) => {
      const resized = resizeChange(volume, current, false);
      return resized ? { conditions: setCondition(current.conditions, resized, now) } : undefined;
    });
  }

  /** V15, V20: removes the claim of this node. A Bound or Stalled volume without claims becomes Available. */
  async released(volume: Volume, claim: string): Promise<void> {
    const { clock, node } = this.#options;
    const now = timestamp(clock);
    await this.#change(volume, (current) => {
      const left = (current.attachments ?? []).filter((a) => a.claim !== claim || a.node !== node);
      const message = `released by ${claim}`;
      const unbound = {
        type: 'Bound',
        status: 'False' as const,
        reason: 'Unbound' as const,
        message,
      };
      return {
        ...detached(current, left),
        ...(left.length > 0 ? {} : { conditions: setCondition(current.conditions, unbound, now) }),
      };
    });
    this.own.remove(volume, claim);
  }

  /** Writes a change computed from the stored volume; no-op if the volume was replaced. */
  #change(volume: Volume, change: (current: Volume) => VolumeStatus | undefined): Promise<void> {
    const key = keyOfVolume(volume);
    return runTxn(this.#options.store, async (txn) => {
      const current = await txn.get(volumes, key);
      if (current?.metadata.uid !== volume.metadata.uid) return;
      const status = change(current);
      if (status) txn.updateStatus(volumes, key, status);
    });
  }
}

/** The error for a volume that was deleted or recreated. */
function gone({ namespace, name }: Volume): DriverError {
  return new DriverError('Unavailable', `volume "${namespace}/${name}" does not exist any more`);
}

/** The phase of a volume that becomes Bound. @throws DriverError Unavailable if it can't */
function phaseOfBound({ namespace, name, status = 'Pending' }: Volume): NextVolumePhase {
  if (status === 'Available' || status === 'Bound' || status === 'Stalled')
    return nextPhase(status, 'bound');
  throw new DriverError('Unavailable', `volume "${namespace}/${name}" became ${status} meanwhile`);
}

/** V13, V18: the phase after an unknown outcome; undefined if it does not change. */
function phaseOfUnknown(status: VolumePhase): NextVolumePhase | undefined {
  if (status === 'Available') return nextPhase(status, 'attachUnknown');
  return status === 'Bound' ? nextPhase(status, 'detachUnknown') : undefined;
}

/**
 * The new condition after a mount that started with the state `begun`; undefined if the condition does not change. A
 * resize that was requested meanwhile remains pending.
 */
function resizeChange(begun: Volume, current: Volume, pending: boolean): NewCondition | undefined {
  if (fileSystemPending(current) === pending) return undefined;
  if (!pending && current.sizeBytes !== begun.sizeBytes) return undefined;
  return {
    type: 'FileSystemResizePending',
    status: pending ? 'True' : 'False',
    reason: pending ? 'WaitsForMount' : 'Resized',
    message: pending ? 'the file system is resized at the next mount' : '',
  };
}
