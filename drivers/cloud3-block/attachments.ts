import {
  type AttachResult,
  type BlockAttachRequest,
  type BlockDetachRequest,
  DriverError,
  type HandleRequest,
  KeyedQueue,
  type Pending,
} from '@kedge/driver-sdk';
import { notYet } from '@kedge/driver-sdk/provider';
import type { ProviderClock } from '@kedge/driver-sdk/provider';
import type { Cloud3Api, CloudInstance, CloudVolume } from './api.js';
import { DeviceNames } from './device-names.js';
import { callerOf } from './parameters.js';
import { attachmentOf, type VolumeReads } from './reads.js';

const pollMs = 1_000;
/** Time after which an attachment is started again, milliseconds (kubernetes-sigs/aws-ebs-csi-driver#2833). */
const stuckMs = 90_000;
/** Time for which an accepted attachment may be missing from the record of the volume, milliseconds. */
const lagMs = 10_000;

/** Attaches and detaches volumes. Errors are DriverError. */
export class Cloud3Attachments {
  readonly #api: Cloud3Api;
  readonly #reads: VolumeReads;
  readonly #clock: ProviderClock;
  readonly #names: DeviceNames;
  /** Attachments of one instance choose their device names one after the other. */
  readonly #turns = new KeyedQueue();

  constructor(api: Cloud3Api, reads: VolumeReads, clock: ProviderClock) {
    this.#api = api;
    this.#reads = reads;
    this.#clock = clock;
    this.#names = new DeviceNames(clock);
  }

  async attach(request: BlockAttachRequest, link: string): Promise<AttachResult | Pending> {
    const { instance, operations } = request;
    const volume = await this.#reads.require(request);
    const held = attachmentOf(volume);
    if (held && held.instance !== instance) {
      if (held.state === 'detaching') return notYet(2 * pollMs);
      throw new DriverError(
        'InUse',
        `volume ${volume.id} is attached to instance ${held.instance}, not to ${instance} (node "${request.node}"); it is attached once it is detached there`,
      );
    }
    switch (held?.state) {
      case undefined:
        break;
      case 'attached':
        await operations.clear('attach');
        return { devicePath: link };
      case 'attaching':
        return this.#attaching(request, volume);
      default: // The volume is still being detached from this instance.
        return notYet(2 * pollMs);
    }
    if (volume.state === 'creating') return notYet(2 * pollMs);
    await this.#turns.run(instance, () => this.#start(request, volume), request.signal);
    return notYet(pollMs);
  }

  /**
   * Waits for an attachment that the provider has accepted. After 90 seconds, detaches the volume, so that the next call
   * attaches it again. A mounted volume is not detached. @throws DriverError Unavailable after them
   */
  async #attaching(request: BlockAttachRequest, { id }: CloudVolume): Promise<Pending> {
    const { operations, instance } = request;
    const kept = Number(await operations.get('attach'));
    const now = this.#clock.now();
    // A time in the future is from a clock that was ahead.
    if (!(kept > 0) || kept > now) await operations.set('attach', String(now));
    if (!(kept > 0) || now - kept < stuckMs) return notYet(pollMs);
    if (await request.isMounted())
      throw new DriverError(
        'Unavailable',
        `EC2 reports for ${stuckMs / 1_000} seconds that it is attaching volume ${id}, which is mounted on this node, so that it stays attached; stop the instances that use the volume: then it is detached, and attached again`,
      );
    await this.#requestDetach(request, instance);
    throw new DriverError(
      'Unavailable',
      `volume ${id} was attaching to instance ${instance} for ${stuckMs / 1_000} seconds; it is detached and attached again`,
    );
  }

  async #start(request: BlockAttachRequest, volume: CloudVolume): Promise<void> {
    const { instance, operations, node } = request;
    const caller = callerOf(request);
    const [found] = await this.#api.instances(caller, { InstanceIds: [instance] });
    if (!found)
      throw new DriverError(
        'NotFound',
        `EC2 has no instance ${instance} (node "${node}") any more`,
      );
    requireZone(volume, found, node);
    const device = this.#names.next(found);
    const earlier = await operations.get('attach');
    await operations.set('attach', String(this.#clock.now()));
    try {
      await this.#api.make(caller, 'AttachVolume', {
        VolumeId: volume.id,
        InstanceId: instance,
        Device: device,
      });
    } catch (thrown) {
      const error = DriverError.from(thrown);
      if (error.kind === 'Timeout' || error.kind === 'Unavailable') throw error;
      if (error.kind !== 'InUse') {
        // An earlier call without an answer may still attach the volume: a detach waits for it.
        if (earlier === undefined) await operations.clear('attach');
        else await operations.set('attach', earlier);
        throw error;
      }
      // Either the volume is in use, and its record does not show the attachment yet, or the device name is. The next
      // call reads the volume and takes another name.
      throw new DriverError('Throttled', error.message, { retryAfterMs: 2 * pollMs });
    }
  }

  async detach(request: BlockDetachRequest): Promise<void | Pending> {
    const { instance, operations } = request;
    const held = await this.#heldBy(request);
    const started = Number(await operations.get('attach'));
    if (!held) {
      // An attachment whose call got no answer may not be visible yet.
      const now = this.#clock.now();
      if (started > now) await operations.set('attach', String(now)); // the clock was ahead
      if (started > 0 && now - started < lagMs) return notYet(2 * pollMs);
      await operations.clear('attach');
      return operations.clear('detach');
    }
    if (held.state === 'busy')
      throw new DriverError(
        'InUse',
        `volume ${request.handle} is still used by instance ${instance ?? ''} (attachment busy); it is detached once the instance releases it`,
      );
    if (held.state === 'detaching') return notYet(pollMs);
    try {
      await this.#requestDetach(request, held.instance);
    } catch (thrown) {
      const { kind } = DriverError.from(thrown);
      if (kind !== 'NotFound' && kind !== 'InUse') throw thrown;
      // It may be detached already. If it can't be read, the refusal is reported.
      const still = await this.#heldBy(request).catch(() => held);
      if (still && still.state !== 'detaching') throw thrown;
      await operations.clear('attach');
    }
    return notYet(pollMs);
  }

  /**
   * Requests a detach. It is recorded until {@link detach} has seen its end, so that an attach ends it first: EC2 may
   * report the volume as attached until it executes the request.
   */
  async #requestDetach(request: HandleRequest, instance: string): Promise<void> {
    const { operations, handle } = request;
    const earlier = await operations.get('detach');
    await operations.set('detach', String(this.#clock.now()));
    try {
      await this.#api.make(callerOf(request), 'DetachVolume', {
        VolumeId: handle,
        InstanceId: instance,
      });
    } catch (thrown) {
      const { kind } = DriverError.from(thrown);
      // A refused request is not executed, but an earlier one without an answer may be.
      const isRefused = kind !== 'Timeout' && kind !== 'Unavailable';
      if (isRefused && earlier === undefined) await operations.clear('detach');
      throw thrown;
    }
    await operations.clear('attach');
  }

  /** The attachment to the instance of a request; undefined without one. */
  async #heldBy(
    request: BlockDetachRequest,
  ): Promise<CloudVolume['attachments'][number] | undefined> {
    const { instance } = request;
    const volume = await this.#reads.ofHandle(request);
    // The attachments of an instance that does not exist any more have ended with it.
    if (!volume || instance === undefined) return undefined;
    return volume.attachments.find((one) => one.instance === instance && one.state !== 'detached');
  }
}

function requireZone({ id, zone }: CloudVolume, instance: CloudInstance, node: string): void {
  if (instance.zone === '' || instance.zone === zone) return;
  throw new DriverError(
    'InvalidParameters',
    `volume ${id} is in zone ${zone}, and instance ${instance.id} (node "${node}") in ${instance.zone}; a volume attaches only to instances of its zone: use a storage class of ${instance.zone}`,
  );
}
