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
  done,
  deleteFound,
  endDeletion,
  MachineActions,
  notYet,
  observedAfter,
  type ProviderClient,
  provisioned,
  volumeName,
} from '@kedge/driver-sdk/provider';
import type { Cloud1Api, CloudAction, CloudVolume } from './api.js';
import { described } from './names.js';
import { callerOf, requireSize } from './requests.js';

/** Time for which a created volume may be missing from lists, milliseconds. */
const listLagMs = 60_000;

function ended<R>(error: unknown, kind: DriverError['kind'], result: R): R {
  if (error instanceof DriverError && error.kind === kind) return result;
  throw error;
}

/** The driver calls for volumes of DigitalOcean. Errors are DriverError. */
export class Cloud1Volumes {
  readonly api: Cloud1Api;
  readonly #client: ProviderClient;
  readonly #actions: MachineActions;
  readonly #cluster: string;

  constructor(api: Cloud1Api, client: ProviderClient, cluster: string) {
    this.api = api;
    this.#client = client;
    this.#actions = new MachineActions(client);
    this.#cluster = cluster;
  }

  /**
   * Finds the volume of a request by its name, in the region of the class if it has one; undefined if there is none.
   * @throws DriverError Internal for several
   */
  async named({ volume, parameters, signal }: CallContext): Promise<CloudVolume | undefined> {
    const { region = '' } = parameters;
    const name = volumeName(volume);
    const query = { name, ...(region === '' ? {} : { region }) };
    const caller = callerOf({ volume, parameters, signal } as CallContext);
    const found = (await this.api.volumes(caller, query)).filter((one) => one.name === name);
    if (found.length <= 1) return found[0];
    const ids = found.map(({ id }) => id).join(', ');
    throw new DriverError(
      'Internal',
      `DigitalOcean has ${found.length} volumes of the name ${name}: ${ids}; delete those that are not needed`,
    );
  }

  /**
   * Finds the volume of a handle; undefined if it does not exist.
   * @throws DriverError InvalidParameters if it belongs to another uid
   */
  async #ofHandle(request: HandleRequest): Promise<CloudVolume | undefined> {
    const { volume, handle } = request;
    const found = await this.api
      .volume(callerOf(request), handle)
      .catch((error: unknown) => ended(error, 'NotFound', undefined));
    if (!found || found.name === volumeName(volume)) return found;
    throw new DriverError(
      'InvalidParameters',
      `DigitalOcean volume ${handle} is named ${found.name}: it does not belong to the volume with uid ${volume.uid}; if it was renamed, give it the name ${volumeName(volume)} again`,
    );
  }

  /** Returns the volume of a handle. @throws DriverError NotFound; InvalidParameters if it belongs to another uid */
  async require(request: HandleRequest): Promise<CloudVolume> {
    const found = await this.#ofHandle(request);
    if (found) return found;
    throw new DriverError('NotFound', `DigitalOcean has no volume ${request.handle} any more`);
  }

  /**
   * Creates a volume, or returns the existing one with its name. The attempt is recorded before the call, so that a
   * later deletion does not rely on a list that may still lack the volume.
   */
  async create(
    request: ProvisionRequest,
    body: () => Promise<Readonly<Record<string, string | number>>>,
  ): Promise<CloudVolume | Pending> {
    const { volume, parameters, operations } = request;
    const found = await this.named(request);
    if (found) return this.#created(request, found);
    const { region = '' } = parameters;
    const mark = { cluster: this.#cluster, uid: volume.uid };
    const whole = {
      name: volumeName(volume),
      region,
      description: described(mark, `${volume.namespace}/${volume.name}`),
      ...(await body()),
    };
    const earlier = await operations.get('provision');
    await operations.set('provision', `create ${this.#client.clock.now()}`);
    let made: CloudVolume;
    try {
      made = await this.api.createVolume(callerOf(request), whole);
    } catch (thrown) {
      const error = DriverError.from(thrown);
      if (error.kind === 'AlreadyExists') {
        const raced = await this.named(request);
        // The list does not contain the volume yet.
        return raced ? this.#created(request, raced) : notYet(5_000);
      }
      if (error.kind !== 'Timeout' && error.kind !== 'Unavailable') {
        // This call created no volume, but an earlier one without an answer may have.
        if (earlier !== undefined) await operations.set('provision', earlier);
        else await operations.clear('provision');
      }
      throw error;
    }
    return this.#created(request, made);
  }

  async #created({ operations }: CallContext, volume: CloudVolume): Promise<CloudVolume> {
    if ((await operations.get('provision')) !== undefined) await operations.clear('provision');
    return volume;
  }

  async provision(request: ProvisionRequest): Promise<ProvisionResult | Pending> {
    const size_gigabytes = requireSize(request.sizeBytes);
    const made = await this.create(request, () => Promise.resolve({ size_gigabytes }));
    return 'type' in made ? made : provisioned(made);
  }

  async observe(request: DeleteRequest): Promise<Observation> {
    const { handle, volume } = request;
    const found =
      handle === undefined
        ? await this.named(request)
        : await this.#ofHandle({ ...request, handle });
    if (found) return provisioned(found);
    throw new DriverError('NotFound', `DigitalOcean has no volume of ${volume.uid}`);
  }

  async delete(request: DeleteRequest): Promise<void | Pending> {
    const { handle, operations } = request;
    const found =
      handle === undefined
        ? await this.named(request)
        : await this.#ofHandle({ ...request, handle });
    if (!found) {
      // A volume whose creation got no answer may be missing from the list for a while.
      const [, at] = /^create (\d+)$/.exec((await operations.get('provision')) ?? '') ?? [];
      const now = this.#client.clock.now();
      // A time in the future is from a clock that was ahead: the wait begins now.
      if (Number(at) > now) await operations.set('provision', `create ${now}`);
      if (at !== undefined && now - Number(at) < listLagMs) return notYet(10_000);
      if (at !== undefined) await operations.clear('provision');
      return endDeletion(operations);
    }
    const [droplet] = found.droplets;
    if (droplet !== undefined)
      throw new DriverError(
        'InUse',
        `volume ${found.id} is attached to Droplet ${droplet}; it is deleted once it is detached`,
      );
    await deleteFound(request, found.id, () =>
      this.api
        .deleteVolume(callerOf(request), found.id)
        .catch((error: unknown) => ended(error, 'NotFound', undefined)),
    );
    await operations.clear('provision');
    await endDeletion(operations);
  }

  /** Runs an action on a volume. A Droplet executes one action at a time. */
  #act<R>(
    request: CallContext,
    kind: OperationKind,
    observe: () => Promise<Observed<R>>,
    action: () => { readonly id: string; readonly body: CloudAction; readonly droplet?: string },
    resultOf?: () => R,
  ): Promise<R | Pending> {
    const caller = callerOf(request);
    return this.#actions.run(request, {
      kind,
      token: caller.token,
      observe,
      machine: () => action().droplet,
      start: () => {
        const { id, body } = action();
        return this.api.startAction(caller, id, body);
      },
      state: (id) => this.api.actionState(caller, id),
      ...(resultOf ? { resultOf } : {}),
    });
  }

  /**
   * Ends a pending attach because the node has the device. The provider's record may stay in progress without limit.
   */
  attachShown(request: CallContext): Promise<void> {
    return this.#actions.shown(request, 'attach');
  }

  attach(request: BlockAttachRequest, link: string): Promise<AttachResult | Pending> {
    const { instance } = request;
    const result = { devicePath: link };
    let seen: CloudVolume | undefined;
    const observe = async (): Promise<Observed<AttachResult>> => {
      seen = await this.require(request);
      const { droplets } = seen;
      if (droplets.includes(instance)) return done(result);
      const [other] = droplets;
      if (other === undefined) return absent;
      throw new DriverError(
        'InUse',
        `volume ${seen.id} is attached to Droplet ${other}, not to ${instance} (node "${request.node}"); it is attached once it is detached there`,
      );
    };
    const attached = this.#act(
      request,
      'attach',
      observe,
      () => ({
        id: request.handle,
        droplet: instance,
        body: { type: 'attach', droplet_id: Number(instance), region: seen?.region ?? '' },
      }),
      () => result,
    );
    return attached.catch((error: unknown) => observedAfter(error, 'InUse', observe));
  }

  detach(request: BlockDetachRequest): Promise<void | Pending> {
    const { instance } = request;
    let region = '';
    const observe = async (): Promise<Observed<undefined>> => {
      const found = await this.#ofHandle(request);
      if (!found || instance === undefined || !found.droplets.includes(instance))
        return done(undefined);
      ({ region } = found);
      return absent;
    };
    const detached = this.#act(
      request,
      'detach',
      observe,
      () => ({
        id: request.handle,
        ...(instance === undefined ? {} : { droplet: instance }),
        body: { type: 'detach', droplet_id: Number(instance), region },
      }),
      () => undefined,
    );
    return detached.catch((error: unknown) => observedAfter(error, 'NotFound', observe));
  }

  /** Grows an attached or detached volume to at least `sizeGib`. Returns its size in bytes. */
  resize(
    request: CallContext & { readonly handle: string },
    kind: 'expand' | 'restore',
    sizeGib: number,
  ): Promise<bigint | Pending> {
    let seen: CloudVolume | undefined;
    const observe = async (): Promise<Observed<bigint>> => {
      seen = await this.require(request);
      return seen.sizeGib >= sizeGib ? done(bytesOf(seen.sizeGib)) : absent;
    };
    return this.#act(request, kind, observe, () => {
      const [droplet] = seen?.droplets ?? [];
      return {
        id: request.handle,
        ...(droplet === undefined ? {} : { droplet }),
        body: { type: 'resize', size_gigabytes: sizeGib, region: seen?.region ?? '' },
      };
    });
  }

  grow(request: ExpandRequest): Promise<bigint | Pending> {
    return this.resize(request, 'expand', requireSize(request.sizeBytes));
  }
}
