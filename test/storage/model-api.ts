import { descriptorSet } from '@kedge/api';
import {
  type KeyRotation,
  loadKindsApi,
  namespaces,
  type ParameterResolver,
  type Sealer,
} from '@kedge/controllers';
import type { DriverRegistry } from '@kedge/driver-sdk';
import {
  type AnyKind,
  type ApiObject,
  type Clock,
  type ObjectKey,
  type ObjectStore,
  type Random,
  sleep,
} from 'kedge';
import { SchemaRegistry } from 'kedge/rpc';
import {
  accessControl,
  type ApiParts,
  ApiServer,
  type CallContext,
  type Identity,
  type ServedKind,
} from 'kedge/server';

/** The inputs of the model's API. */
export interface ModelApiOptions {
  readonly store: ObjectStore;
  readonly drivers: DriverRegistry;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly random: Random;
}

/** An object in the form of an answer. */
export type Shown = Readonly<Record<string, unknown>>;

const schemas = new SchemaRegistry(descriptorSet);
const kindsApi = await loadKindsApi();
const identity: Identity = {
  subject: 'user',
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
  node: undefined,
};
const context: CallContext = {
  identity,
  peer: { address: '127.0.0.1', loopback: true },
  requestId: 'model',
  transport: 'rest',
  signal: new AbortController().signal,
};
/** Percentage of writes that wait between their validation and their commit. */
const heldPercent = 40;
const heldMsMax = 2_000;

/** The daemon's admission of all kinds, called in process: it has the same refusals for the same reasons. */
export class ModelApi {
  readonly #resources: ApiParts['resources'];
  readonly #served: ReadonlyMap<string, ServedKind>;

  constructor({ store, drivers, sealer, clock, random }: ModelApiOptions) {
    const api = {
      drivers,
      sealer,
      resolver: {} as ParameterResolver,
      here: 'n',
      clusterId: 'cluster',
      runtimes: [],
      defaultStorageClass: undefined,
      backups: {
        store: { backup: () => Promise.reject(new Error('no backups')) },
        keyPlace: '',
      },
      rotation: { rotate: () => Promise.reject(new Error('no keys')) } as unknown as KeyRotation,
      clock,
    };
    let made: ApiParts | undefined;
    // It never listens: only its chain is used.
    new ApiServer({
      store,
      schemas,
      packageName: 'api',
      namespaces,
      kinds: kindsApi.servedKinds(api),
      custom: (parts) => {
        made = parts;
        return kindsApi.customMethods(parts, api);
      },
      authenticator: { authenticate: () => Promise.resolve(identity) },
      authorizer: accessControl(() => true),
      beforeCommit: async () => {
        if (random.next() * 100 < heldPercent) await sleep(clock, random.next() * heldMsMax);
      },
      clock,
      random,
    });
    if (!made) throw new Error('the server asked for no methods');
    this.#resources = made.resources;
    this.#served = made.served;
  }

  #kind(kind: AnyKind): ServedKind {
    const served = this.#served.get(kind.kind);
    if (!served) throw new Error(`${kind.kind} is not served`);
    return served;
  }

  create(kind: AnyKind, object: Readonly<Record<string, unknown>>): Promise<Shown> {
    const body = `${kind.kind.charAt(0).toLowerCase()}${kind.kind.slice(1)}`;
    const { namespace } = object;
    const request = { [body]: object, ...(namespace === undefined ? {} : { namespace }) };
    return this.#resources.unary('Create', this.#kind(kind), context, request);
  }

  /** Changes fields of an object in its state at the validation. */
  change(kind: AnyKind, key: ObjectKey, fields: Shown): Promise<Shown> {
    return this.#resources.change<ApiObject>(this.#kind(kind), context, key, () => fields);
  }

  delete(kind: AnyKind, { namespace, name }: ObjectKey, cascade = false): Promise<Shown> {
    const request = { name, ...(namespace === undefined ? {} : { namespace }), cascade };
    return this.#resources.unary('Delete', this.#kind(kind), context, request);
  }
}
