import type { Shape, Tags, Timed, Volume } from './records.js';
import { Refusal } from './refusals.js';
import {
  gib,
  iops as iopsOf,
  limits,
  regionOf,
  sizes,
  throughput as throughputRange,
  usualType,
  zones,
} from './rules.js';
import type { State } from './state.js';

/** The fields of a request to create a volume, with checked types. */
export interface VolumeOrder {
  readonly zone: string;
  readonly sizeGib?: number;
  readonly type?: string;
  readonly iops?: number;
  readonly throughput?: number;
  readonly encrypted: boolean;
  readonly kmsKey?: string;
  readonly snapshot?: string;
  readonly tags: Tags;
  readonly token?: string;
}

/** Creates a volume, or returns that of an earlier request with the same client token. @throws Refusal */
export function createVolume(state: State, order: VolumeOrder, request: Timed): Volume {
  const { zone, encrypted, kmsKey, tags, token } = order;
  const { region, now } = request;
  if (!(zones[region] ?? []).includes(zone)) throw new Refusal('zoneUnknown', zone);
  const snapshot =
    order.snapshot === undefined ? undefined : state.requireSnapshot(order.snapshot, region);
  if (snapshot && snapshot.state !== 'completed')
    throw new Refusal('snapshotState', snapshot.state);
  if (order.sizeGib === undefined && !snapshot) throw new Refusal('missing', 'size/snapshot');
  const shape = shapeOf({ ...order, sizeGib: order.sizeGib ?? snapshot?.sizeGib ?? 0 });
  if (snapshot && shape.sizeGib < snapshot.sizeGib)
    throw new Refusal('badValue', shape.sizeGib, 'size', 'It is smaller than the snapshot.');
  if (kmsKey !== undefined && !encrypted)
    throw new Refusal('badCombination', 'The parameter KmsKeyId requires encrypted to be true.');
  // The provider compares quotas before it searches the client token.
  const { volumesMax } = state.options;
  const users = [...state.volumes.values()].filter(({ root }) => !root);
  if (users.length >= volumesMax) throw new Refusal('volumeLimit', volumesMax);
  const earlier = token === undefined ? undefined : earlierVolume(state, order, token, request);
  if (earlier) return earlier;
  if (state.full.has(zone)) throw new Refusal('noCapacity', zone);
  const volume = state.put({
    ...{ id: state.newId('vol'), zone, ...shape, encrypted, tags, lag: state.lag },
    ...(kmsKey === undefined ? {} : { kmsKey }),
    ...(snapshot ? { snapshot: snapshot.id } : {}),
    ...{ state: 'creating', createdAt: now },
  });
  const { id } = volume;
  if (token !== undefined)
    state.tokens.set(`${region} ${token}`, {
      ...{ token, region, order: JSON.stringify(order), volume: id, at: now },
    });
  const sizeBytes = shape.sizeGib * gib;
  const from = snapshot?.id;
  state.change({ type: 'created', volume: id, sizeBytes, ...(from ? { from } : {}) });
  // A copy of a snapshot has the snapshot's size at first.
  if (snapshot && shape.sizeGib > snapshot.sizeGib)
    state.change({ type: 'resized', volume: id, sizeBytes });
  state.start({ type: 'create', volume: id }, request, [`volume ${id}`]);
  return volume;
}

/**
 * Returns the volume of an earlier request with the token; undefined if there is none. @throws Refusal tokenReused if
 * the parameters differ, or if the volume no longer exists: such a token is burned until it is forgotten
 */
function earlierVolume(
  state: State,
  order: VolumeOrder,
  token: string,
  { region, now }: Timed,
): Volume | undefined {
  if (token.length > limits.tokenMax) throw new Refusal('tokenTooLong');
  const used = state.tokens.get(`${region} ${token}`);
  if (!used || now >= used.at + limits.tokenMs) return undefined;
  const volume = state.volumes.get(used.volume);
  if (used.order !== JSON.stringify(order) || !volume) throw new Refusal('tokenReused');
  return volume;
}

/** Returns the size, type and speed of a volume with the provider's defaults. @throws Refusal for what it refuses */
export function shapeOf(given: {
  readonly sizeGib: number;
  readonly type?: string;
  readonly iops?: number;
  readonly throughput?: number;
}): Shape {
  const { sizeGib, type = usualType, iops, throughput } = given;
  const range = sizes[type];
  if (!range) throw new Refusal('badValue', type, 'volumeType', 'It is no volume type.');
  const [min, max] = range;
  if (sizeGib < min || sizeGib > max)
    throw new Refusal('badValue', sizeGib, 'size', `${type} has ${min} to ${max} GiB.`);
  const provisioned = iopsOf[type];
  if (iops !== undefined) {
    if (!provisioned)
      throw new Refusal(
        'badCombination',
        `The parameter iops is not supported for ${type} volumes.`,
      );
    if (iops < provisioned[0] || iops > provisioned[1])
      throw new Refusal('badValue', iops, 'iops', `${type} has ${provisioned.join(' to ')}.`);
  } else if (type === 'io1' || type === 'io2') throw new Refusal('missing', 'iops');
  if (throughput !== undefined) {
    if (type !== 'gp3')
      throw new Refusal(
        'badCombination',
        `The parameter throughput is not supported for ${type} volumes.`,
      );
    const [least, most] = throughputRange;
    if (throughput < least || throughput > most)
      throw new Refusal('badValue', throughput, 'throughput', `gp3 has ${least} to ${most}.`);
  }
  const usual =
    type === 'gp3'
      ? { iops: 3_000, throughput: 125 }
      : type === 'gp2'
        ? { iops: Math.max(100, Math.min(16_000, 3 * sizeGib)) }
        : {};
  return {
    ...{ sizeGib, type, ...usual },
    ...(iops === undefined ? {} : { iops }),
    ...(throughput === undefined ? {} : { throughput }),
  };
}

/** Starts the deletion of a detached volume. @throws Refusal */
export function deleteVolume(state: State, id: string, request: Timed): void {
  const volume = state.requireVolume(id, request.region);
  if (volume.attachment) throw new Refusal('volumeInUse', id, volume.attachment.instance);
  if (volume.state === 'deleting') throw new Refusal('volumeNotFound', id);
  if (volume.state === 'creating') throw new Refusal('volumeState', id, volume.state);
  state.put({ ...volume, state: 'deleting' });
  state.start({ type: 'delete', volume: id }, request, [`volume ${id}`]);
}

/** Whether a volume belongs to a region and is part of the next answer. Reduces its lag by one. */
export function isListed(state: State, volume: Volume, region: string): boolean {
  if (regionOf(volume.zone) !== region) return false;
  if (volume.lag > 0) state.put({ ...volume, lag: volume.lag - 1 });
  return volume.lag === 0;
}
