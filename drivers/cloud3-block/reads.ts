import {
  type CallContext,
  type DeleteRequest,
  DriverError,
  type HandleRequest,
  type VolumeIdentity,
} from '@kedge/driver-sdk';
import { isHostUnknown, volumeName } from '@kedge/driver-sdk/provider';
import type { Cloud3Api, CloudVolume } from './api.js';
import { BatchedReads } from './batch.js';
import { tagKeys } from './names.js';
import { callerOf } from './parameters.js';

/** States in which a volume does not exist any more. */
export const gone: readonly string[] = ['deleting', 'deleted'];
/** The state in which a volume does not exist for a deletion, which waits for the end of `deleting` for a while. */
export const deleted: readonly string[] = ['deleted'];

/** The name of a volume at the provider, by which an imported one is recognized. */
export function shownName({ id, tags }: Pick<CloudVolume, 'id' | 'tags'>): string {
  const name = tags[tagKeys.name] ?? '';
  return name === '' ? id : name;
}

/** Finds the volumes of driver calls. Reads of several volumes share requests. Errors are DriverError. */
export class VolumeReads {
  readonly #api: Cloud3Api;
  readonly #byId: BatchedReads<CloudVolume>;
  readonly #byTag: BatchedReads<CloudVolume>;

  constructor(api: Cloud3Api) {
    this.#api = api;
    this.#byId = this.#batched('volume-id', ({ id }) => id);
    this.#byTag = this.#batched(`tag:${tagKeys.uid}`, ({ tags }) => tags[tagKeys.uid] ?? '');
  }

  #batched(filter: string, keyOf: (volume: CloudVolume) => string): BatchedReads<CloudVolume> {
    return new BatchedReads(async (caller, values, about) => {
      const found = new Map<string, CloudVolume[]>();
      for (const one of await this.#api.volumes(caller, [{ Name: filter, Values: values }], about))
        found.set(keyOf(one), [...(found.get(keyOf(one)) ?? []), one]);
      return found;
    });
  }

  /** The volume with an id, of any owner; undefined if there is none, or its state is one of `absent`. */
  async withId(request: CallContext, id: string, absent = gone): Promise<CloudVolume | undefined> {
    const caller = callerOf(request);
    const lane = `id ${this.#api.client.identity(caller)}`;
    const [found] = await this.#byId.of(lane, caller, id);
    return found && !absent.includes(found.state) ? found : undefined;
  }

  /** The volume with the tag of a uid; undefined if there is none. @throws DriverError Internal for several */
  async tagged(request: CallContext, absent = gone): Promise<CloudVolume | undefined> {
    const { uid } = request.volume;
    const caller = callerOf(request);
    const lane = `tag ${this.#api.client.identity(caller)}`;
    const all = await this.#byTag.of(lane, caller, uid);
    const known = all.filter(({ state }) => !absent.includes(state));
    // A volume of an earlier attempt may still be deleted.
    const found = known.filter(({ state }) => !gone.includes(state));
    if (found.length <= 1) return found[0] ?? known[0];
    const ids = found.map(({ id }) => id).join(', ');
    throw new DriverError(
      'Internal',
      `Amazon EBS has ${found.length} volumes with the tag ${tagKeys.uid}=${uid}: ${ids}; delete those that are not needed`,
    );
  }

  /**
   * Finds the volume of a handle; undefined if it does not exist.
   * @throws DriverError InvalidParameters if it belongs to another uid
   */
  async ofHandle(request: HandleRequest, absent = gone): Promise<CloudVolume | undefined> {
    const found = await this.withId(request, request.handle, absent);
    if (!found || isOf(found, request.volume)) return found;
    throw new DriverError(
      'InvalidParameters',
      `Amazon EBS volume ${found.id} is named ${shownName(found)}: it does not belong to the volume with uid ${request.volume.uid}; ${renamed(request.volume)}`,
    );
  }

  /** Returns the volume of a handle. @throws DriverError NotFound; InvalidParameters if it belongs to another uid */
  async require(request: HandleRequest): Promise<CloudVolume> {
    const found = await this.ofHandle(request);
    if (found) return found;
    throw new DriverError('NotFound', `Amazon EBS has no volume ${request.handle} any more`);
  }

  /** The volume of a handle, or without one that of a uid. @param absent states in which it does not exist */
  find(request: DeleteRequest, absent = gone): Promise<CloudVolume | undefined> {
    const { handle } = request;
    return handle === undefined
      ? this.tagged(request, absent)
      : this.ofHandle({ ...request, handle }, absent);
  }

  /**
   * The volume that a deletion finds; undefined if there is none. Undefined also if the region has no host, the request
   * has no handle and no creation was sent: so a volume of a class with a misspelled region can be deleted.
   */
  async toDelete(request: DeleteRequest, isSent: boolean): Promise<CloudVolume | undefined> {
    try {
      return await this.find(request, deleted);
    } catch (thrown) {
      if (request.handle === undefined && !isSent && isHostUnknown(thrown)) return undefined;
      throw thrown;
    }
  }
}

function isOf(found: CloudVolume, volume: VolumeIdentity): boolean {
  if (volume.importedAs === undefined) return found.tags[tagKeys.uid] === volume.uid;
  return shownName(found) === volumeName(volume);
}

/** The attachment of a volume that has not ended; undefined if there is none. */
export function attachmentOf({
  attachments,
}: Pick<CloudVolume, 'attachments'>): CloudVolume['attachments'][number] | undefined {
  return attachments.find(({ state }) => state !== 'detached');
}

/** The remedy for a volume whose tag was changed. */
function renamed(volume: VolumeIdentity): string {
  const [key, value] =
    volume.importedAs === undefined
      ? [tagKeys.uid, volume.uid]
      : [tagKeys.name, volumeName(volume)];
  return `if its tag ${key} was changed, give it the value ${value} again`;
}
