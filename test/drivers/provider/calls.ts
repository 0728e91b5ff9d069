import { DriverError, type OperationState } from '@kedge/driver-sdk';
import { ProviderClient } from './client.js';
import type { Disk, DiskSnapshot, Order } from './state.js';

interface List<T> {
  readonly items: readonly T[];
}

/** The provider's calls for a driver. Each throws only DriverError. */
export class ProviderCalls {
  readonly #client: ProviderClient;

  constructor(folder: string) {
    this.#client = new ProviderClient(folder);
  }

  /** The disk that was created for a uid. @throws DriverError Internal for several */
  disk(uid: string, signal: AbortSignal): Promise<Disk | undefined> {
    return this.#one<Disk>('disks', uid, signal);
  }

  /** As {@link disk}. */
  snapshot(uid: string, signal: AbortSignal): Promise<DiskSnapshot | undefined> {
    return this.#one<DiskSnapshot>('snapshots', uid, signal);
  }

  async #one<T>(what: string, uid: string, signal: AbortSignal): Promise<T | undefined> {
    const [first, second] = (await this.#get<List<T>>(`/${what}?uid=${uid}`, signal)).items;
    if (second) throw new DriverError('Internal', `the provider has several ${what} of ${uid}`);
    return first;
  }

  async instances(name: string, signal: AbortSignal): Promise<readonly string[]> {
    const path = `/instances?name=${encodeURIComponent(name)}`;
    return (await this.#get<List<string>>(path, signal)).items;
  }

  #get<T>(path: string, signal: AbortSignal): Promise<T> {
    return this.#client.call<T>({ method: 'GET', path, signal });
  }

  /** Begins an operation and returns its id. */
  async start(body: Order, key: string, signal: AbortSignal): Promise<string> {
    try {
      const order = { method: 'POST', path: '/operations', body, key, signal } as const;
      return (await this.#client.call<{ readonly id: string }>(order)).id;
    } catch (error) {
      if (!(error instanceof DriverError) || error.kind !== 'AlreadyExists') throw error;
      // The key began another operation, such as the same disk in another size: its end is awaited.
      const path = `/operations?key=${encodeURIComponent(key)}`;
      return (await this.#get<{ readonly id: string }>(path, signal)).id;
    }
  }

  /** The state of an operation. @throws DriverError Timeout if the provider hides it */
  async state(id: string, signal: AbortSignal): Promise<OperationState> {
    try {
      const path = `/operations/${id}`;
      const { state } = await this.#get<{ readonly state: 'running' | 'ended' | 'failed' }>(
        path,
        signal,
      );
      if (state !== 'failed') return { type: state };
      return { type: 'failed', error: new DriverError('Internal', `operation ${id} failed`) };
    } catch (error) {
      const { kind, message } = DriverError.from(error);
      if (kind === 'NotFound') return { type: 'unknown' };
      if (kind !== 'PermissionDenied') throw error;
      const description = `operation ${id} can not be observed: ${message}`;
      throw new DriverError('Timeout', description, { operation: id });
    }
  }

  /** Reports that a driver call has answered; resolves when the provider permits it. */
  async answered(kind: string): Promise<void> {
    await this.#client.call({ method: 'POST', path: '/answered', body: { kind } });
  }
}
