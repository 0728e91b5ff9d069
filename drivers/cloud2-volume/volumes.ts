import {
  type AttachResult,
  type BlockAttachRequest,
  type BlockDetachRequest,
  type CallContext,
  type DeleteRequest,
  DriverError,
  type ExpandRequest,
  type HandleRequest,
  type Observed,
  type Observation,
  type OperationKind,
  type Pending,
  type ProvisionRequest,
  type ProvisionResult,
} from '@kedge/driver-sdk';
import {
  absent,
  bytesOf,
  type Caller,
  carryOut,
  done,
  isKind,
  deleteFound,
  endDeletion,
  MachineActions,
  observedAfter,
  type ProviderClient,
  provisioned,
  uncertainCreation,
  underWay,
  volumeName,
} from '@kedge/driver-sdk/provider';
import type { Cloud2Api, CloudVolume } from './api.js';
import { labelKeys, labelValue } from './names.js';
import { locationOf } from './parameters.js';
import { callerOf, ensureDeleted, requireSize } from './requests.js';
import { UnseenDevices } from './unseen-devices.js';

/** Time for which a created volume may be missing from lists, milliseconds. */
const listLagMs = 60_000;

/** The place at which an attach makes the device available. */
export interface AttachPlace {
  readonly link: string;
  /** Whether the device has appeared on the node; true if the node is not that of this process. */
  readonly appeared: () => Promise<boolean>;
  /** Maximum time until the device appears, milliseconds. */
  readonly deviceMs: number;
  /** The location of the server, if known. */
  readonly location: string | undefined;
  /** @throws DriverError if the node has the volume mounted, so that it must not be detached */
  readonly requireUnmounted: () => Promise<void>;
}

/** The driver calls for volumes of Hetzner Cloud. Errors are DriverError. */
export class Cloud2Volumes {
  readonly #api: Cloud2Api;
  readonly #client: ProviderClient;
  readonly #actions: MachineActions;
  readonly #cluster: string;
  /** The monotonic time of the first lookup of a volume that was not found after a recorded creation, by uid. */
  readonly #missing = new Map<string, number>();
  readonly #unseen: UnseenDevices;

  constructor(api: Cloud2Api, client: ProviderClient, cluster: string) {
    this.#api = api;
    this.#client = client;
    this.#actions = new MachineActions(client);
    this.#unseen = new UnseenDevices(api, client.clock);
    this.#cluster = cluster;
  }

  /** Finds the volume of a request by its name; undefined if there is none. Names are unique in the project. */
  async #named(request: CallContext): Promise<CloudVolume | undefined> {
    const name = volumeName(request.volume);
    const found = await this.#api.volumes(callerOf(request), { name });
    return found.find((one) => one.name === name);
  }

  /** Finds the volume of a handle, or undefined. @throws DriverError InvalidParameters if it belongs to another uid */
  async #ofHandle({ handle, ...request }: HandleRequest): Promise<CloudVolume | undefined> {
    const { uid } = request.volume;
    const found = await this.#api.volume(callerOf(request), handle).catch((error: unknown) => {
      if (isKind(error, 'NotFound')) return undefined;
      throw error;
    });
    if (!found || found.name === volumeName(request.volume)) return found;
    throw new DriverError(
      'InvalidParameters',
      `Hetzner Cloud volume ${handle} is named ${found.name}: it does not belong to the volume with uid ${uid}; if it was renamed, give it the name ${volumeName(request.volume)} again`,
    );
  }

  async #require(request: HandleRequest): Promise<CloudVolume> {
    const found = await this.#ofHandle(request);
    if (found) return found;
    throw new DriverError('NotFound', `Hetzner Cloud has no volume ${request.handle} any more`);
  }

  async #find(request: DeleteRequest): Promise<CloudVolume | undefined> {
    const { handle } = request;
    return handle === undefined ? this.#named(request) : this.#ofHandle({ ...request, handle });
  }

  async provision(request: ProvisionRequest): Promise<ProvisionResult | Pending> {
    const { volume, parameters } = request;
    const caller = callerOf(request);
    const size = requireSize(request.sizeBytes);
    const location = locationOf(parameters);
    const observe = async (): Promise<Observed<ProvisionResult>> => {
      const found = await this.#named(request);
      if (!found) return absent;
      if (found.location !== location)
        throw new DriverError(
          'InvalidParameters',
          `parameter location: volume ${found.id} of this name is in ${found.location}, not in ${location}; delete it, or use a class of its location`,
        );
      return found.isReady ? done(provisioned(found)) : underWay;
    };
    const labels = {
      [labelKeys.uid]: labelValue(volume.uid),
      [labelKeys.cluster]: labelValue(this.#cluster),
    };
    // A refusal says nothing about an earlier call without an answer.
    const isFirst = (await request.operations.get('provision')) === undefined;
    let calls = 0;
    return carryOut(this.#client.clock, request, 'provision', {
      observe,
      start: (_key) => {
        calls += 1;
        const isOnly = isFirst && calls === 1;
        return this.#api
          .createVolume(caller, { name: volumeName(volume), size, location, labels })
          .catch(async (error: unknown) => {
            const { kind } = DriverError.from(error);
            // No volume was created, so a deletion need not wait for one.
            if (isOnly && !uncertainCreation.includes(kind))
              await request.operations.clear('provision');
            if (kind !== 'AlreadyExists') throw error;
            // The volume of an earlier creation has the name, but the list does not contain it yet.
            throw new DriverError('Throttled', DriverError.from(error).message, {
              retryAfterMs: 2_000,
            });
          });
      },
      state: async (id) => {
        const state = await this.#api.actionState(caller, id);
        if (state.type === 'failed') await this.#discard(request);
        return state;
      },
    });
  }

  /** Deletes the volume of a failed creation, because its name is needed for the next attempt. */
  async #discard(request: CallContext): Promise<void> {
    const found = await this.#named(request);
    if (!found || found.isReady) return;
    await ensureDeleted(this.#api, request, found.id);
  }

  async observe(request: DeleteRequest): Promise<Observation> {
    const found = await this.#find(request);
    const { uid } = request.volume;
    if (!found) throw new DriverError('NotFound', `Hetzner Cloud has no volume of ${uid}`);
    if (found.isReady) return provisioned(found);
    throw new DriverError('Unavailable', `volume ${found.id} is still being created`);
  }

  async delete(request: DeleteRequest): Promise<void | Pending> {
    const { operations } = request;
    const found = await this.#find(request);
    if (!found) return this.#gone(request);
    if (found.server !== undefined)
      throw new DriverError(
        'InUse',
        `volume ${found.id} is attached to server ${found.server}; it is deleted once it is detached`,
      );
    if (found.isProtected)
      throw new DriverError(
        'PermissionDenied',
        `volume ${found.id} is protected against deletion; disable the protection in Hetzner's console or with hcloud volume disable-protection ${found.id} delete`,
      );
    await deleteFound(request, found.id, () => ensureDeleted(this.#api, request, found.id));
    await operations.clear('provision');
    return endDeletion(operations);
  }

  /** Ends the deletion of an absent volume. Pending for a minute if a created one may be missing from the list. */
  async #gone({ operations, volume }: CallContext): Promise<void | Pending> {
    const attempt = await operations.get('provision');
    if (attempt === undefined) return endDeletion(operations);
    const now = this.#client.clock.monotonic();
    const since = this.#missing.get(volume.uid) ?? now;
    if (now - since < listLagMs) {
      this.#missing.set(volume.uid, since);
      return { type: 'pending', pollAfterMs: 10_000 };
    }
    this.#missing.delete(volume.uid);
    await operations.clear('provision');
    return endDeletion(operations);
  }

  /** Runs an action on a volume. A server executes one action at a time. */
  #act<R>(
    request: CallContext,
    kind: OperationKind,
    server: string | undefined,
    observe: () => Promise<Observed<R>>,
    start: (caller: Caller) => Promise<string>,
  ): Promise<R | Pending> {
    const caller = callerOf(request);
    return this.#actions.run(request, {
      kind,
      token: caller.token,
      observe,
      machine: () => server,
      start: () => start(caller),
      state: (id) => this.#api.actionState(caller, id),
    });
  }

  async attach(request: BlockAttachRequest, place: AttachPlace): Promise<AttachResult | Pending> {
    const { instance, volume } = request;
    const { link, appeared, deviceMs, location, requireUnmounted } = place;
    const result = { devicePath: link };
    const observe = async (): Promise<Observed<AttachResult>> => {
      const found = await this.#require(request);
      const isUnseen = found.server === instance && !(await appeared());
      this.#unseen.observed(volume.uid, isUnseen);
      if (location !== undefined && location !== found.location)
        throw new DriverError(
          'InvalidParameters',
          `volume ${found.id} is in location ${found.location}, and server ${instance} (node "${request.node}") in ${location}; a volume attaches only to servers of its location: use a storage class of ${location}`,
        );
      if (found.server === undefined) return absent;
      if (found.server !== instance)
        throw new DriverError(
          'InUse',
          `volume ${found.id} is attached to server ${found.server}, not to ${instance} (node "${request.node}"); it is attached once it is detached there`,
        );
      return isUnseen ? underWay : done(result);
    };
    const answer = await this.#act(
      request,
      'attach',
      instance,
      observe,
      (caller) =>
        this.#api.startAction(caller, request.handle, 'attach', { server: Number(instance) }),
      // "Already attached" may be wrong, so the volume decides (hetznercloud/csi-driver#41).
    ).catch((error: unknown) => observedAfter(error, 'InUse', observe));
    if (!('type' in answer) || !this.#unseen.isOverdue(volume.uid, deviceMs)) return answer;
    // The provider's record may be wrong (hetznercloud/csi-driver#571): the volume is detached and attached again.
    const found = await this.#require(request);
    if (found.server !== instance || (await appeared())) return answer;
    await requireUnmounted();
    await this.#unseen.detach(request);
    throw new DriverError(
      'Unavailable',
      `Hetzner Cloud reports volume ${found.id} as attached to this node, but its device ${link} did not appear within ${deviceMs} ms; it is detached and attached again`,
    );
  }

  async detach(request: BlockDetachRequest): Promise<void | Pending> {
    const { instance, volume } = request;
    this.#unseen.observed(volume.uid, false);
    const observe = async (): Promise<Observed<undefined>> => {
      const found = await this.#ofHandle(request);
      const isHere = found?.server !== undefined && found.server === instance;
      return isHere ? absent : done(undefined);
    };
    return this.#act(request, 'detach', instance, observe, (caller) =>
      this.#api.startAction(caller, request.handle, 'detach'),
    ).catch((error: unknown) => observedAfter(error, 'NotFound', observe));
  }

  /** Grows a detached volume and returns its size in bytes. @throws DriverError InUse if it is attached */
  grow(request: ExpandRequest): Promise<bigint | Pending> {
    const size = requireSize(request.sizeBytes);
    const observe = async (): Promise<Observed<bigint>> => {
      const found = await this.#require(request);
      // The provider refuses a size that is not larger than the current one.
      if (found.sizeGib >= size) return done(bytesOf(found.sizeGib));
      if (found.server === undefined) return absent;
      throw new DriverError(
        'InUse',
        `volume ${found.id} is attached to server ${found.server}; it is resized once it is detached`,
      );
    };
    return this.#act(request, 'expand', undefined, observe, (caller) =>
      this.#api.startAction(caller, request.handle, 'resize', { size }),
    );
  }
}
