import {
  type CallContext,
  type ClassRequest,
  DriverError,
  type Operations,
  operationIdOf,
  type SnapshotHandleRequest,
} from '@kedge/driver-sdk';
import { gibOf, isKind, type ProviderClient } from '@kedge/driver-sdk/provider';
import type { Cloud4Api } from './api.js';
import type { Authorizations } from './authorization.js';
import { defaultIdentity, type Identity, serviceAccountKeyOf } from './credentials.js';
import { zoneLabel } from './parameters.js';
import type { Caller } from './session.js';

/** Smallest disks, GiB. A smaller size becomes this one. */
const sizeGibMin = { other: 10, 'pd-extreme': 500 } as const;
const sizeGibMax = 65_536;
const identitiesMax = 1_000;

/** Returns the result of a read; undefined if the provider has no such resource. */
export async function ifFound<T>(read: Promise<T>): Promise<T | undefined> {
  return read.catch((error: unknown) => {
    if (isKind(error, 'NotFound')) return undefined;
    throw error;
  });
}

/**
 * Returns a requested size in GiB, rounded up, at least the provider's minimum.
 * @throws DriverError above the maximum
 */
export function requireSize(sizeBytes: bigint, diskType: string): number {
  const gib = gibOf(sizeBytes, sizeGibMin[diskType === 'pd-extreme' ? diskType : 'other']);
  if (gib <= sizeGibMax) return gib;
  throw new DriverError(
    'InvalidParameters',
    `${sizeBytes} bytes are more than the ${sizeGibMax} GiB of the largest disk; request a smaller size`,
  );
}

/** The common part of the calls of a driver for volumes and snapshots. */
export class Requests {
  readonly api: Cloud4Api;
  readonly client: ProviderClient;
  /** The id of this cluster in the descriptions of its resources. */
  readonly cluster: string;
  readonly #authorizations: Authorizations;
  /** Valid keys by the id of the credential: reading one takes longer than the rest of a call. */
  readonly #identities = new Map<string, Identity>();

  constructor(
    api: Cloud4Api,
    client: ProviderClient,
    authorizations: Authorizations,
    cluster: string,
  ) {
    this.api = api;
    this.client = client;
    this.#authorizations = authorizations;
    this.cluster = cluster;
  }

  /** Returns the context of the provider calls of a call. @throws DriverError InvalidParameters for an invalid key */
  callerOf(request: CallContext | SnapshotHandleRequest): Caller {
    const { parameters, signal } = request;
    const { uid } = 'volume' in request ? request.volume : request.snapshot;
    return { identity: this.#identity(parameters), about: uid, signal };
  }

  /** Like {@link callerOf}, for a call for a class. @throws DriverError InvalidParameters for an invalid key */
  classCallerOf({ parameters, signal }: ClassRequest): Caller {
    return { identity: this.#identity(parameters), about: 'check', signal };
  }

  #identity({ credentialsJSON = '' }: CallContext['parameters']): Caller['identity'] {
    if (credentialsJSON === '') return defaultIdentity;
    const id = this.client.credential(credentialsJSON);
    let identity = this.#identities.get(id);
    if (!identity) {
      identity = { id, key: serviceAccountKeyOf(credentialsJSON) };
      if (this.#identities.size >= identitiesMax) this.#identities.clear();
      this.#identities.set(id, identity);
    }
    return identity;
  }

  /** Returns the project of a class: its parameter, else that of the node. @throws DriverError without either */
  async projectOf({
    parameters: { project = '' },
    signal,
  }: Pick<CallContext, 'parameters' | 'signal'>): Promise<string> {
    return project === '' ? this.#authorizations.projectOfNode(signal) : project;
  }

  /** Whether an operation that is stored as `kind` still runs. Removes the record of one that does not. */
  async runs(
    caller: Caller,
    operations: Operations,
    kind: Parameters<Operations['get']>[0],
  ): Promise<boolean> {
    const id = operationIdOf(await operations.get(kind));
    if (id === undefined) return false;
    if ((await this.api.operationState(caller, id)).type === 'running') return true;
    await operations.clear(kind);
    return false;
  }
}

/** Returns the zone of a volume: the parameter, else the label; empty if neither names one. */
export function zoneOf(
  { parameters, volume }: Pick<CallContext, 'parameters' | 'volume'>,
  topology: Readonly<Record<string, string>> = volume.topology ?? {},
): string {
  const { zone = '' } = parameters;
  return zone === '' ? (topology[zoneLabel] ?? '') : zone;
}
