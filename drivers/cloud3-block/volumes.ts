import {
  type CallContext,
  type DeleteRequest,
  DriverError,
  type DriverErrorKind,
  type ExpandRequest,
  type Observation,
  type Operations,
  type Pending,
  type ProvisionRequest,
  type ProvisionResult,
} from '@kedge/driver-sdk';
import {
  bytesOf,
  deleteFound,
  notYet,
  type ProviderClock,
  provisioned,
} from '@kedge/driver-sdk/provider';
import type { Cloud3Api, CloudVolume } from './api.js';
import { type Attempt, attemptIn, storeAttempt } from './attempt.js';
import { clientToken, volumeTags } from './names.js';
import { callerOf, createFields, requireSize, zoneOf } from './parameters.js';
import { attachmentOf, deleted, gone, type VolumeReads } from './reads.js';

/** Time for which a created volume may be missing from lists, milliseconds. */
const listLagMs = 60_000;
/** Time for which the end of an accepted deletion is awaited, milliseconds: it may take several minutes. */
const deletingMs = 15 * 60_000;
const pollMs = 1_000;

/** Errors after which a call may have been executed. */
const uncertain: readonly DriverErrorKind[] = ['Timeout', 'Unavailable'];

/** The answer while the provider works: the delay grows with the time that it has taken so far. */
function working(sinceMs: number): Pending {
  return notYet(Math.min(Math.max(pollMs, sinceMs / 5), 15 * pollMs));
}

/** The driver calls for volumes of Amazon EBS. Errors are DriverError. */
export class Cloud3Volumes {
  readonly #api: Cloud3Api;
  readonly #reads: VolumeReads;
  readonly #clock: ProviderClock;
  readonly #cluster: string;

  constructor(api: Cloud3Api, reads: VolumeReads, clock: ProviderClock, cluster: string) {
    this.#api = api;
    this.#reads = reads;
    this.#clock = clock;
    this.#cluster = cluster;
  }

  provision(request: ProvisionRequest): Promise<ProvisionResult | Pending> {
    return this.create(request, requireSize(request.sizeBytes, request.parameters), {});
  }

  /**
   * Creates a volume, or returns the existing one of the uid. The attempt is stored before the call: its token makes
   * the provider return the same volume, and a later deletion does not rely on lists that may still lack the volume.
   * @param source further fields of the call
   */
  async create(
    request: ProvisionRequest,
    sizeGib: number,
    source: Readonly<Record<string, unknown>>,
  ): Promise<ProvisionResult | Pending> {
    const { volume, parameters, topology, operations } = request;
    const attempt = await attemptIn(operations);
    if (attempt?.id !== undefined) return this.#awaited(request, attempt, attempt.id);
    const zone = zoneOf(parameters, topology);
    const existing = await this.#reads.tagged(request);
    if (existing) return this.#inZone(request, existing, zone, attempt);
    const next = { epoch: attempt?.epoch ?? 1, at: this.#clock.now() };
    await storeAttempt(operations, next);
    let made: CloudVolume;
    try {
      made = await this.#api.createVolume(callerOf(request), {
        AvailabilityZone: zone,
        Size: sizeGib,
        ...createFields(parameters),
        ...source,
        ClientToken: clientToken(volume.uid, next.epoch),
        TagSpecifications: volumeTags(volume, this.#cluster),
      });
    } catch (thrown) {
      return this.#refused(request, next, attempt, DriverError.from(thrown));
    }
    const known = { ...next, id: made.id };
    await storeAttempt(operations, known);
    return this.#ready(request, made, known);
  }

  async #refused(
    { operations }: ProvisionRequest,
    { epoch, at }: Attempt,
    earlier: Attempt | undefined,
    error: DriverError,
  ): Promise<Pending> {
    if (error.kind === 'AlreadyExists') {
      // The token belongs to a volume with other parameters. The list may not contain it yet, or it was deleted.
      if (earlier && at - earlier.at < listLagMs) {
        // A time in the future is from a clock that was ahead.
        await storeAttempt(operations, { ...earlier, at: Math.min(earlier.at, at) });
        return notYet(5 * pollMs);
      }
      await storeAttempt(operations, { epoch: epoch + 1, at: 0 });
      return notYet(pollMs);
    }
    // This call created no volume, but an earlier one without an answer may have: a deletion waits for it. The epoch of
    // the earlier attempt is kept, so that a refused token is not used again.
    if (!uncertain.includes(error.kind)) {
      if (earlier) await storeAttempt(operations, earlier);
      else await operations.clear('provision');
    }
    throw error;
  }

  #inZone(
    request: ProvisionRequest,
    found: CloudVolume,
    zone: string,
    attempt: Attempt | undefined,
  ): Promise<ProvisionResult | Pending> {
    if (found.zone !== zone)
      throw new DriverError(
        'InvalidParameters',
        `parameter availabilityZone: volume ${found.id} of this uid is in ${found.zone}, not in ${zone}; delete it, or use a class of its zone`,
      );
    return this.#ready(request, found, attempt ?? { epoch: 1, at: 0 });
  }

  /** The state of a volume that an earlier call has created. */
  async #awaited(
    request: ProvisionRequest,
    attempt: Attempt,
    id: string,
  ): Promise<ProvisionResult | Pending> {
    const found = await this.#reads.withId(request, id);
    const { operations, parameters } = request;
    const { missedAt, ...kept } = attempt;
    if (found) {
      if (missedAt !== undefined) await storeAttempt(operations, kept);
      return this.#ready(request, found, kept);
    }
    // One read may miss it, however long ago it was created.
    const now = this.#clock.now();
    if (missedAt === undefined || missedAt > now)
      await storeAttempt(operations, { ...attempt, missedAt: now });
    if (now - (missedAt ?? now) < listLagMs) return notYet(2 * pollMs);
    await storeAttempt(operations, { epoch: attempt.epoch + 1, at: 0 });
    const { kmsKeyId = '' } = parameters;
    // EBS accepts a volume with a key that it can't use, and drops it later without a message.
    const why =
      kmsKeyId === ''
        ? 'it is created again'
        : "EBS drops volumes whose kmsKeyId it can't use: check that the key exists in the region, is enabled, and may be used by these credentials";
    throw new DriverError(
      kmsKeyId === '' ? 'Unavailable' : 'InvalidParameters',
      `Amazon EBS accepted volume ${id}, which does not exist any more; ${why}`,
    );
  }

  async #ready(
    request: ProvisionRequest,
    found: CloudVolume,
    attempt: Attempt,
  ): Promise<ProvisionResult | Pending> {
    const { operations } = request;
    if (gone.includes(found.state)) {
      // The token belongs to a volume that another program has deleted.
      await storeAttempt(operations, { epoch: attempt.epoch + 1, at: 0 });
      return notYet(pollMs);
    }
    if (found.state === 'creating') {
      if (attempt.id === undefined) await storeAttempt(operations, { ...attempt, id: found.id });
      return working(attempt.at > 0 ? this.#clock.now() - attempt.at : 0);
    }
    if (found.state === 'error') {
      await this.#remove(request, found.id);
      await storeAttempt(operations, { epoch: attempt.epoch + 1, at: 0 });
      throw new DriverError(
        'Unavailable',
        `Amazon EBS failed to create volume ${found.id} (state error); it was deleted and is created again`,
      );
    }
    await operations.clear('provision');
    return provisioned(found);
  }

  async #remove(request: CallContext, id: string): Promise<void> {
    try {
      await this.#api.make(callerOf(request), 'DeleteVolume', { VolumeId: id });
    } catch (thrown) {
      if (DriverError.from(thrown).kind !== 'NotFound') throw thrown;
    }
  }

  async observe(request: DeleteRequest): Promise<Observation> {
    const found = await this.#reads.find(request);
    if (!found)
      throw new DriverError('NotFound', `Amazon EBS has no volume of ${request.volume.uid}`);
    if (found.state === 'available' || found.state === 'in-use') return provisioned(found);
    throw new DriverError('Unavailable', `volume ${found.id} is in state ${found.state}`);
  }

  async delete(request: DeleteRequest): Promise<void | Pending> {
    const { operations, handle } = request;
    const attempt = await attemptIn(operations);
    const found =
      (await this.#reads.toDelete(request, attempt !== undefined)) ??
      (handle === undefined && attempt?.id !== undefined
        ? await this.#reads.withId(request, attempt.id, deleted)
        : undefined);
    const now = this.#clock.now();
    if (!found) {
      // A volume whose creation got no answer may be missing from the list for a while.
      // If the clock was ahead, the wait begins now.
      if (attempt && attempt.at > now) await storeAttempt(operations, { ...attempt, at: now });
      if (attempt && now - attempt.at < listLagMs) return notYet(10 * pollMs);
      return this.#ended(operations);
    }
    if (found.state === 'creating') return notYet(2 * pollMs);
    if (found.state === 'deleting') {
      const since = Number(await operations.get('delete'));
      if (since > 0 && now - since >= deletingMs) return this.#ended(operations);
      if (!(since > 0) || since > now) await operations.set('delete', String(now));
      return working(since > 0 ? now - since : 0);
    }
    const held = attachmentOf(found);
    if (held)
      throw new DriverError(
        'InUse',
        `volume ${found.id} is attached to instance ${held.instance}; it is deleted once it is detached`,
      );
    // For all deletions, since EBS shows a deleted volume for a while.
    await deleteFound({ operations, handle: undefined }, String(now), () =>
      this.#remove(request, found.id),
    );
    if (attempt) await storeAttempt(operations, { epoch: attempt.epoch, at: 0 });
    return notYet(pollMs);
  }

  async #ended(operations: Operations): Promise<void> {
    await operations.clear('provision');
    await operations.clear('delete');
  }

  /**
   * Grows an attached or detached volume. Returns its size in bytes once EBS reports it; EBS may still optimize the
   * volume then.
   */
  async grow(request: ExpandRequest): Promise<bigint | Pending> {
    const { operations, parameters, handle } = request;
    const sizeGib = requireSize(request.sizeBytes, parameters);
    const found = await this.#reads.require(request);
    if (found.sizeGib >= sizeGib) {
      await operations.clear('expand');
      return bytesOf(found.sizeGib);
    }
    const [size, since] = ((await operations.get('expand')) ?? '').split(' ');
    const now = this.#clock.now();
    if (Number(size) === sizeGib && (await this.#isModifying(request, sizeGib)))
      return working(now - Number(since));
    await operations.set('expand', `${sizeGib} ${now}`);
    try {
      await this.#api.make(callerOf(request), 'ModifyVolume', { VolumeId: handle, Size: sizeGib });
    } catch (thrown) {
      if (!uncertain.includes(DriverError.from(thrown).kind)) await operations.clear('expand');
      throw thrown;
    }
    return notYet(2 * pollMs);
  }

  /**
   * Whether the provider still modifies the volume to a size. False without the permission to read modifications: then
   * the caller repeats the modification, and the provider refuses it while the first one is in progress.
   * @throws DriverError Unavailable if the modification has failed
   */
  async #isModifying(request: ExpandRequest, sizeGib: number): Promise<boolean> {
    const { handle } = request;
    let last: Awaited<ReturnType<Cloud3Api['modification']>>;
    try {
      last = await this.#api.modification(callerOf(request), handle);
    } catch (thrown) {
      const { kind } = DriverError.from(thrown);
      if (kind === 'PermissionDenied' || kind === 'NotFound') return false;
      throw thrown;
    }
    if (!last || last.sizeGib < sizeGib) return false;
    if (last.state !== 'failed') return true;
    await request.operations.clear('expand');
    const words = last.words === '' ? '' : `: ${last.words}`;
    throw new DriverError(
      'Unavailable',
      `Amazon EBS failed to grow volume ${handle}${words}; it is started again`,
    );
  }
}
