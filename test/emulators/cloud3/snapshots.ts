import type { Snapshot, Tags, Timed } from './records.js';
import { Refusal } from './refusals.js';
import { limits } from './rules.js';
import type { State } from './state.js';

/** Creates a snapshot, whose content is that of the volume now although it is `pending`. @throws Refusal */
export function createSnapshot(
  state: State,
  order: { readonly volume: string; readonly description: string; readonly tags: Tags },
  request: Timed,
): Snapshot {
  const { region, now } = request;
  const volume = state.requireVolume(order.volume, region);
  if (volume.state !== 'available') throw new Refusal('volumeState', volume.id, volume.state);
  const own = [...state.snapshots.values()].filter((one) => one.volume === volume.id);
  const pending = own.filter((one) => one.state === 'pending');
  if (pending.length >= limits.pendingSnapshotsMax) throw new Refusal('snapshotRate');
  const { snapshotsMax } = state.options;
  if (state.snapshots.size >= snapshotsMax) throw new Refusal('snapshotLimit', snapshotsMax);
  const snapshot: Snapshot = {
    ...{ id: state.newId('snap'), region, volume: volume.id, sizeGib: volume.sizeGib },
    ...{ description: order.description, encrypted: volume.encrypted, tags: order.tags },
    ...{ state: 'pending', startedAt: now, lag: state.lag },
  };
  state.snapshots.set(snapshot.id, snapshot);
  state.change({ type: 'snapshotted', volume: volume.id, snapshot: snapshot.id });
  state.start({ type: 'snapshot', snapshot: snapshot.id }, request, [`snapshot ${snapshot.id}`]);
  return snapshot;
}

/** Deletes a snapshot, also a pending one. Volumes that were created from it stay. @throws Refusal */
export function deleteSnapshot(state: State, id: string, { region }: Timed): void {
  const snapshot = state.requireSnapshot(id, region);
  const running = state.actions.holder(`snapshot ${id}`);
  if (running) state.actions.forget(running.id);
  state.snapshots.delete(snapshot.id);
  state.change({ type: 'snapshotDeleted', snapshot: id });
}

/** Whether a snapshot belongs to a region and is part of the next answer. Reduces its lag by one. */
export function isSnapshotListed(state: State, snapshot: Snapshot, region: string): boolean {
  if (snapshot.region !== region) return false;
  if (snapshot.lag > 0) state.snapshots.set(snapshot.id, { ...snapshot, lag: snapshot.lag - 1 });
  return snapshot.lag === 0;
}
