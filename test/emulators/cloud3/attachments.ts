import type { Attachment, Timed, Volume } from './records.js';
import { Refusal } from './refusals.js';
import { instanceKinds, isDevice } from './rules.js';
import type { State } from './state.js';

/** The ids and the device of a request to attach or detach a volume. */
export interface AttachmentOrder {
  readonly volume: string;
  readonly instance: string;
  readonly device: string;
}

/** Number of network interfaces of each instance. */
const interfaces = 1;

/** Returns the number of volumes that an instance can have, including its root volume. */
export function attachmentsMax(kind: string): number {
  const { attachmentsMax: max, limit } =
    instanceKinds[kind as keyof typeof instanceKinds] ?? instanceKinds['m5.large'];
  return limit === 'shared' ? max - interfaces : max;
}

/** Starts the attachment of a volume to a running instance of its zone. @throws Refusal */
export function attachVolume(state: State, order: AttachmentOrder, request: Timed): Volume {
  const volume = state.requireVolume(order.volume, request.region);
  const server = state.requireServer(order.instance, request);
  const { device } = order;
  if (!isDevice(device))
    throw new Refusal('badValue', device, 'device', `${device} is not a valid EBS device name.`);
  if (server.state !== 'running') throw new Refusal('instanceState', server.id);
  if (volume.attachment) throw new Refusal('volumeAttached', volume.id);
  if (volume.state !== 'available') throw new Refusal('volumeState', volume.id, volume.state);
  if (volume.zone !== server.place) throw new Refusal('otherZone', volume.id, server.id);
  const others = state.attachedTo(server.id);
  if (others.some((one) => one.attachment?.device === device))
    throw new Refusal('deviceTaken', device, device);
  const max = attachmentsMax(server.kind);
  if (others.length >= max) throw new Refusal('attachLimit', server.id, max);
  const attachment: Attachment = {
    ...{ instance: server.id, device, state: 'attaching', at: request.now },
  };
  const work = { type: 'attach', volume: volume.id, instance: server.id } as const;
  state.start(work, request, [`volume ${volume.id}`]);
  return state.put({ ...volume, attachment });
}

/** Starts the detachment of a volume; with `force` also of one that is busy. @throws Refusal */
export function detachVolume(
  state: State,
  order: Partial<AttachmentOrder> & Pick<AttachmentOrder, 'volume'> & { readonly force: boolean },
  request: Timed,
): Volume {
  const volume = state.requireVolume(order.volume, request.region);
  const { instance, device, force } = order;
  if (instance !== undefined) state.requireServer(instance, request);
  const { attachment } = volume;
  if (!attachment) throw new Refusal('volumeState', volume.id, volume.state);
  const otherInstance = instance !== undefined && instance !== attachment.instance;
  if (otherInstance || (device !== undefined && device !== attachment.device))
    throw new Refusal('attachmentNotFound', volume.id, instance ?? attachment.instance);
  if (volume.root)
    throw new Refusal('badCombination', `Unable to detach root volume '${volume.id}'`);
  const isDetaching = attachment.state === 'detaching' || attachment.state === 'busy';
  if (isDetaching && !force) throw new Refusal('volumeState', volume.id, attachment.state);
  const running = state.actions.holder(`volume ${volume.id}`);
  if (running) state.actions.forget(running.id);
  const was: Attachment = { ...attachment, state: request.fate.stuck ? 'busy' : 'detaching' };
  if (attachment.state === 'attaching') {
    // Nothing is attached yet, so the attachment ends at once.
    const { attachment: _, ...free } = volume;
    state.put(free);
    return { ...volume, attachment: was };
  }
  const work = { type: 'detach', volume: volume.id, instance: attachment.instance } as const;
  state.start(work, request, [`volume ${volume.id}`]);
  // A volume that its instance still uses stays busy.
  return state.put({ ...volume, attachment: was });
}
