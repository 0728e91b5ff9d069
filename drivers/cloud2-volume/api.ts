import { DriverError, type OperationState } from '@kedge/driver-sdk';
import {
  type Caller,
  Fields,
  type ProviderCall,
  type ProviderClient,
  stateAfter,
} from '@kedge/driver-sdk/provider';

/** A volume at the provider. */
export interface CloudVolume {
  readonly id: string;
  readonly name: string;
  readonly location: string;
  readonly sizeGib: number;
  /** Id of the server to which it is attached; undefined if there is none. */
  readonly server: string | undefined;
  readonly isReady: boolean;
  readonly isProtected: boolean;
  readonly labels: Readonly<Record<string, string>>;
}

/** A server at the provider. */
export interface CloudServer {
  readonly id: string;
  readonly location: string;
}

const pagesMax = 200;
const perPage = '50';

/** All calls of Hetzner Cloud that the driver makes. Each throws DriverError as {@link ProviderClient.call}. */
export class Cloud2Api {
  readonly #client: ProviderClient;

  constructor(client: ProviderClient) {
    this.#client = client;
  }

  async #call(
    caller: Caller,
    call: Pick<ProviderCall, 'name' | 'method' | 'path' | 'query' | 'body'>,
  ): Promise<Fields> {
    const body = await this.#client.call({ ...caller, ...call });
    return new Fields(call.name, body, call.method !== 'GET');
  }

  /** Reads the entries of all pages of a list. @throws DriverError Internal for more than 200 pages */
  async #all<T>(
    caller: Caller,
    call: Pick<ProviderCall, 'name' | 'path' | 'query'>,
    key: string,
    read: (fields: Fields) => T,
  ): Promise<readonly T[]> {
    const found: T[] = [];
    let page: string | undefined = '1';
    for (let n = 0; n < pagesMax && page !== undefined; n += 1) {
      const query = { ...call.query, per_page: perPage, ...(page === '1' ? {} : { page }) };
      const body = await this.#call(caller, { ...call, method: 'GET', query });
      found.push(...body.list(key).map(read));
      page = body.optional('meta')?.optional('pagination')?.optionalId('next_page');
    }
    if (page === undefined) return found;
    throw new DriverError(
      'Internal',
      `${call.name} has more than ${pagesMax} pages, and no more are read; use the credential of an account with fewer resources`,
    );
  }

  /** Returns the volumes that match a query by name or by labels. */
  volumes(
    caller: Caller,
    query: Readonly<Record<string, string>>,
  ): Promise<readonly CloudVolume[]> {
    return this.#all(
      caller,
      { name: 'listVolumes', path: '/v1/volumes', query },
      'volumes',
      volume,
    );
  }

  /** Returns the volume with an id. @throws DriverError NotFound */
  async volume(caller: Caller, id: string): Promise<CloudVolume> {
    const path = `/v1/volumes/${encodeURIComponent(id)}`;
    return volume(
      (await this.#call(caller, { name: 'getVolume', method: 'GET', path })).in('volume'),
    );
  }

  /** Starts the creation of a volume, which the provider neither formats nor mounts. Returns the id of the action. */
  async createVolume(
    caller: Caller,
    body: {
      readonly name: string;
      readonly size: number;
      readonly location: string;
      readonly labels: Readonly<Record<string, string>>;
    },
  ): Promise<string> {
    const call = { name: 'createVolume', method: 'POST', path: '/v1/volumes', body } as const;
    return (await this.#call(caller, call)).in('action').id('id');
  }

  async deleteVolume(caller: Caller, id: string): Promise<void> {
    const path = `/v1/volumes/${encodeURIComponent(id)}`;
    await this.#call(caller, { name: 'deleteVolume', method: 'DELETE', path });
  }

  /** Starts an action on a volume and returns the action's id. */
  async startAction(
    caller: Caller,
    id: string,
    action: 'attach' | 'detach' | 'resize',
    body?: Readonly<Record<string, number>>,
  ): Promise<string> {
    const path = `/v1/volumes/${encodeURIComponent(id)}/actions/${action}`;
    const call = { name: `${action}Volume`, method: 'POST', path } as const;
    const started = await this.#call(caller, body === undefined ? call : { ...call, body });
    return started.in('action').id('id');
  }

  /**
   * Returns the state of an action. Only its status decides, because a running action may have an `error` too.
   * @throws DriverError Timeout if the token does not permit the call, because the outcome is unknown then
   */
  async actionState(caller: Caller, id: string): Promise<OperationState> {
    const path = `/v1/actions/${encodeURIComponent(id)}`;
    try {
      const call = { name: 'getAction', method: 'GET', path } as const;
      const action = (await this.#call(caller, call)).in('action');
      const status = action.text('status');
      if (status === 'running') return { type: 'running' };
      if (status === 'success') return { type: 'ended' };
      const error = action.optional('error');
      const words = error ? `: ${error.text('message')} (${error.text('code')})` : '';
      const message = `Hetzner Cloud ended action ${id} with status ${status}${words}; it is started again`;
      return { type: 'failed', error: new DriverError('Unavailable', message) };
    } catch (thrown) {
      return stateAfter(thrown, `action ${id}`, id);
    }
  }

  /** Returns the servers with exactly this name. */
  async serversNamed(caller: Caller, name: string): Promise<readonly CloudServer[]> {
    const call = { name: 'listServers', path: '/v1/servers', query: { name } };
    const found = await this.#all(caller, call, 'servers', (fields) => ({
      id: fields.id('id'),
      name: fields.text('name'),
      location: fields.optional('location')?.text('name') ?? '',
    }));
    return found.filter((server) => server.name === name);
  }
}

function volume(fields: Fields): CloudVolume {
  return {
    id: fields.id('id'),
    name: fields.text('name'),
    location: fields.in('location').text('name'),
    sizeGib: fields.number('size'),
    server: fields.optionalId('server'),
    isReady: fields.text('status') === 'available',
    isProtected: fields.optional('protection')?.flag('delete') ?? false,
    labels: fields.optional('labels')?.textMap() ?? {},
  };
}
