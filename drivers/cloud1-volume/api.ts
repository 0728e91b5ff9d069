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
  readonly region: string;
  readonly sizeGib: number;
  /** Ids of the Droplets to which it is attached, at most one. */
  readonly droplets: readonly string[];
  readonly description: string;
}

/** A snapshot at the provider. */
export interface CloudSnapshot {
  readonly id: string;
  readonly name: string;
  /** Id of the volume, which may be deleted. */
  readonly volume: string;
  readonly regions: readonly string[];
  /**
   * Minimum size of a volume that is restored from it: `min_disk_size`, because `size_gigabytes` is the billed size.
   */
  readonly sizeGib: number;
}

/** The body of a request for an action on a volume. */
export type CloudAction =
  | { readonly type: 'attach' | 'detach'; readonly droplet_id: number; readonly region: string }
  | { readonly type: 'resize'; readonly size_gigabytes: number; readonly region: string };

const pagesMax = 200;
const perPage = '200';

/** All calls of DigitalOcean that the driver makes. Each throws DriverError as {@link ProviderClient.call}. */
export class Cloud1Api {
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

  /** Yields the entries of all pages of a list. @throws DriverError Internal for more than 200 pages */
  async *#pages(
    caller: Caller,
    call: Pick<ProviderCall, 'name' | 'path' | 'query'>,
    key: string,
  ): AsyncGenerator<Fields> {
    for (let page = 1; page <= pagesMax; page += 1) {
      const query = {
        ...call.query,
        per_page: perPage,
        ...(page > 1 ? { page: String(page) } : {}),
      };
      const body = await this.#call(caller, { ...call, method: 'GET', query });
      yield* body.list(key);
      if (!body.optional('links')?.optional('pages')?.has('next')) return;
    }
    throw new DriverError(
      'Internal',
      `${call.name} has more than ${pagesMax} pages, and no more are read; use the token of an account with fewer resources`,
    );
  }

  async #all<T>(
    caller: Caller,
    call: Pick<ProviderCall, 'name' | 'path' | 'query'>,
    key: string,
    read: (fields: Fields) => T,
  ): Promise<readonly T[]> {
    const found: T[] = [];
    for await (const fields of this.#pages(caller, call, key)) found.push(read(fields));
    return found;
  }

  /** Returns the volumes that match a query by `name` and `region`. */
  volumes(
    caller: Caller,
    query: Readonly<Record<string, string>>,
  ): Promise<readonly CloudVolume[]> {
    return this.#all(
      caller,
      { name: 'listVolumes', path: '/v2/volumes', query },
      'volumes',
      volume,
    );
  }

  /** Returns the volume with an id. @throws DriverError NotFound */
  async volume(caller: Caller, id: string): Promise<CloudVolume> {
    const path = `/v2/volumes/${encodeURIComponent(id)}`;
    return volume(
      (await this.#call(caller, { name: 'getVolume', method: 'GET', path })).in('volume'),
    );
  }

  async createVolume(
    caller: Caller,
    body: Readonly<Record<string, string | number>>,
  ): Promise<CloudVolume> {
    const call = { name: 'createVolume', method: 'POST', path: '/v2/volumes', body } as const;
    return volume((await this.#call(caller, call)).in('volume'));
  }

  async deleteVolume(caller: Caller, id: string): Promise<void> {
    const path = `/v2/volumes/${encodeURIComponent(id)}`;
    await this.#call(caller, { name: 'deleteVolume', method: 'DELETE', path });
  }

  /** Starts an action on a volume and returns the action's id. */
  async startAction(caller: Caller, id: string, action: CloudAction): Promise<string> {
    const path = `/v2/volumes/${encodeURIComponent(id)}/actions`;
    const name = `${action.type}Volume`;
    const body = await this.#call(caller, { name, method: 'POST', path, body: action });
    return body.in('action').id('id');
  }

  /**
   * Returns the state of an action, by the path that the scope `actions:read` permits.
   * @throws DriverError Timeout if the token does not permit the call, because the outcome is unknown then
   */
  async actionState(caller: Caller, id: string): Promise<OperationState> {
    const path = `/v2/actions/${encodeURIComponent(id)}`;
    try {
      const call = { name: 'getAction', method: 'GET', path } as const;
      const action = (await this.#call(caller, call)).in('action');
      const status = action.text('status');
      if (status === 'in-progress') return { type: 'running' };
      if (status === 'completed') return { type: 'ended' };
      const what = action.optionalText('type') ?? 'action';
      const message = `DigitalOcean ended ${what} ${id} of the volume with status ${status}; it is started again`;
      return { type: 'failed', error: new DriverError('Unavailable', message) };
    } catch (thrown) {
      return stateAfter(thrown, `action ${id}`, id);
    }
  }

  /**
   * Returns the ids of the Droplets with exactly this name. The provider's list ignores case and omits GPU Droplets
   * unless their type is requested.
   */
  async dropletsNamed(caller: Caller, name: string): Promise<readonly string[]> {
    const found: string[] = [];
    for (const type of ['droplets', 'gpus']) {
      const call = { name: 'listDroplets', path: '/v2/droplets', query: { name, type } };
      for await (const fields of this.#pages(caller, call, 'droplets'))
        if (fields.text('name') === name) found.push(fields.id('id'));
    }
    return found;
  }

  /** Returns the snapshots of a volume. @throws DriverError NotFound if the volume does not exist */
  snapshotsOf(caller: Caller, volumeId: string): Promise<readonly CloudSnapshot[]> {
    const path = `/v2/volumes/${encodeURIComponent(volumeId)}/snapshots`;
    return this.#all(caller, { name: 'listSnapshots', path }, 'snapshots', snapshot);
  }

  /** Returns the snapshots of all volumes of the account, also of deleted ones. */
  snapshots(caller: Caller): Promise<readonly CloudSnapshot[]> {
    const query = { resource_type: 'volume' };
    return this.#all(
      caller,
      { name: 'listAllSnapshots', path: '/v2/snapshots', query },
      'snapshots',
      snapshot,
    );
  }

  async createSnapshot(caller: Caller, volumeId: string, name: string): Promise<CloudSnapshot> {
    const path = `/v2/volumes/${encodeURIComponent(volumeId)}/snapshots`;
    const call = { name: 'createSnapshot', method: 'POST', path, body: { name } } as const;
    return snapshot((await this.#call(caller, call)).in('snapshot'));
  }

  /** Returns the snapshot with an id. @throws DriverError NotFound */
  async snapshot(caller: Caller, id: string): Promise<CloudSnapshot> {
    const path = `/v2/volumes/snapshots/${encodeURIComponent(id)}`;
    const call = { name: 'getSnapshot', method: 'GET', path } as const;
    return snapshot((await this.#call(caller, call)).in('snapshot'));
  }

  async deleteSnapshot(caller: Caller, id: string): Promise<void> {
    const path = `/v2/volumes/snapshots/${encodeURIComponent(id)}`;
    await this.#call(caller, { name: 'deleteSnapshot', method: 'DELETE', path });
  }
}

function volume(fields: Fields): CloudVolume {
  return {
    id: fields.text('id'),
    name: fields.text('name'),
    region: fields.in('region').text('slug'),
    sizeGib: fields.number('size_gigabytes'),
    droplets: fields.ids('droplet_ids'),
    description: fields.optionalText('description') ?? '',
  };
}

function snapshot(fields: Fields): CloudSnapshot {
  return {
    id: fields.text('id'),
    name: fields.text('name'),
    volume: fields.text('resource_id'),
    regions: fields.texts('regions'),
    sizeGib: fields.number('min_disk_size'),
  };
}
