import {
  type Condition,
  done,
  findCondition,
  isDeleting,
  type ReconcileContext,
  requeueAfter,
  type Result,
} from 'kedge';
import { nodes } from '../../node/kind.js';
import { type Volume, volumes } from '../kind.js';
import {
  deletedCondition,
  isNewWait,
  type Waits,
  waitsReason,
} from '../../provisioned/conditions.js';
import {
  deletionOf,
  isDeletionAsked,
  isDeletionUnderWay,
  noDeletion,
} from '../states/deletion-report.js';
import { keyOfVolume, type VolumeEffects } from './effects.js';
import { effectivePolicy, type VolumeAction, type VolumeSituation } from '../states/plan.js';
import { requireSeen } from '../../provisioned/retries.js';
import { neverUsed } from './stalled.js';
import { detached } from './upkeep.js';

/** Conditions of a wait, by the waiting action. */
const asking = {
  provision: { type: 'Provisioned', status: 'False' },
  observe: { type: 'Provisioned', status: 'False' },
  expand: { type: 'Resizing', status: 'True' },
  reclaim: { type: deletedCondition, status: 'False' },
  detach: { type: 'Bound', status: 'True' },
} as const satisfies Partial<
  Record<VolumeAction['type'], { type: string; status: Condition['status'] }>
>;

function isAsking(type: VolumeAction['type']): type is keyof typeof asking {
  return Object.hasOwn(asking, type);
}

/** Whether an action on a volume is a driver call. */
export function callsDriver(action: VolumeAction, volume: Volume): boolean {
  switch (action.type) {
    case 'provision':
    case 'observe':
    case 'expand':
    case 'probe':
    case 'detach':
      return true;
    case 'reclaim':
      return isDeleting(volume);
    default:
      return false;
  }
}

/** Decides for each action whether another process must call the driver, and reports the wait for it. */
export class Handover {
  readonly #effects: VolumeEffects;

  constructor(effects: VolumeEffects) {
    this.#effects = effects;
  }

  /**
   * Reports the awaited node; a change of the volume or the node queues its key. Requests the deletion from a node that
   * is Ready. Force-detaches a volume that is being detached from a node that is not Ready.
   */
  async wait(
    situation: VolumeSituation,
    action: VolumeAction,
    waits: Waits,
    request: ReconcileContext,
  ): Promise<Result> {
    const { volume } = situation;
    if (action.type === 'detach' && waits.home !== undefined && !waits.ready)
      return this.#detachFromSilent(volume, waits.home, request);
    if (!isAsking(action.type)) return done();
    const { type, status } = asking[action.type];
    const message = action.type === 'reclaim' ? withRemedy(situation, waits) : waits.message;
    const report = findCondition(volume.conditions, type);
    // A silent node gets no request, so that the policy can still be changed.
    const asked = action.type === 'reclaim' && waits.ready && !isDeletionAsked(volume);
    if (!asked && !isNewWait(report, status, { ...waits, message })) return done();
    const condition = this.#effects.condition(volume, type, status, waitsReason, message);
    const deletion = asked ? deletionOf(volume, this.#effects.now) : {};
    await this.#effects.write(request, volume, { ...neverUsed(volume), ...deletion, ...condition });
    return done();
  }

  /**
   * Withdraws the deletion request to a node that was removed from the cluster. The policy applies again. No-op if the
   * node exists again.
   */
  withdrawDeletion(volume: Volume, home: string, request: ReconcileContext): Promise<Result> {
    return request.txn(async (txn) => {
      requireSeen(volumes, volume, await txn.get(volumes, keyOfVolume(volume)));
      if (await txn.get(nodes, { name: home }, { watching: 'generation' })) return requeueAfter(0);
      txn.updateStatus(volumes, keyOfVolume(volume), noDeletion);
      return requeueAfter(0);
    });
  }

  /**
   * V19 for a volume whose data is on a silent node: no provider can detach it, and no other node can reach it.
   * When the node returns, it unmounts volumes without an attachment.
   */
  #detachFromSilent(volume: Volume, home: string, request: ReconcileContext): Promise<Result> {
    return request.txn(async (txn) => {
      const current = await txn.get(volumes, keyOfVolume(volume));
      requireSeen(volumes, volume, current);
      const node = await txn.get(nodes, { name: home }, { watching: ['status'] });
      if (node?.status === 'Ready') return requeueAfter(0);
      const all = current.attachments ?? [];
      const left = all.filter(({ state }) => state !== 'Detaching');
      const message = `force-detached from node ${home}, which is not Ready`;
      txn.updateStatus(volumes, keyOfVolume(volume), {
        ...detached(current, left),
        ...this.#effects.condition(current, 'Bound', 'False', 'Detached', message),
      });
      return requeueAfter(0);
    });
  }
}

/**
 * Adds to the message of a wait for a node that is not Ready the remedy `reclaimPolicy: retain`, which removes the object
 * and keeps the data; if a deletion may be in progress, a note that says so.
 */
function withRemedy({ volume, storageClass }: VolumeSituation, { message, ready }: Waits): string {
  const keeps = volume.neverUsed !== true && (volume.handle ?? '') !== '';
  if (ready || !keeps || effectivePolicy(volume, storageClass) === 'retain') return message;
  if (isDeletionUnderWay(volume)) return `${message}; the node may already be deleting the data`;
  return `${message}; or set reclaimPolicy to retain to remove the object without deletion of its data`;
}
