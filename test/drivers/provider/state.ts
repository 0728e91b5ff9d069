import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { OperationKind } from '@kedge/driver-sdk';

/** A disk of the provider. Two disks may have one uid: drivers must prevent that. */
export interface Disk {
  readonly id: string;
  /** The tag that the caller set at creation. */
  readonly uid: string;
  readonly sizeBytes: number;
  readonly state: 'creating' | 'available';
  /** The operation in progress: until it has ended, another one is refused. */
  readonly busyWith?: string;
  readonly instance?: string;
}

/** A snapshot of the provider; as for {@link Disk}. */
export interface DiskSnapshot {
  readonly id: string;
  readonly uid: string;
  readonly sizeBytes: number;
  readonly state: 'creating' | 'available';
  readonly busyWith?: string;
}

/** The request of an operation. */
export interface Order {
  readonly kind: OperationKind;
  /** The uid of the disk or snapshot that it creates or changes. */
  readonly uid: string;
  readonly sizeBytes?: number;
  readonly instance?: string;
  /** Id of the source: the disk of a new snapshot, or the snapshot of a new disk. */
  readonly source?: string;
}

/** An operation that was accepted. */
export interface ProviderOperation {
  readonly id: string;
  readonly key: string;
  readonly order: Order;
  /** Id of the disk or snapshot. */
  readonly target: string;
  readonly state: 'running' | 'ended' | 'failed';
  /** Milliseconds since the epoch; absent: it ends on command. */
  readonly endsAt?: number;
  /** It continues, but can no longer be polled. */
  readonly isForgotten?: boolean;
}

/** The complete state of the provider, as in its file. */
export interface ProviderState {
  readonly next: number;
  readonly disks: Readonly<Record<string, Disk>>;
  readonly snapshots: Readonly<Record<string, DiskSnapshot>>;
  readonly operations: Readonly<Record<string, ProviderOperation>>;
}

const nothing: ProviderState = { next: 1, disks: {}, snapshots: {}, operations: {} };

/** The state in a file that is replaced atomically: a kill leaves the old or the new one. */
export class StateFile {
  readonly #path: string;
  #state: ProviderState = nothing;

  constructor(path: string) {
    this.#path = path;
  }

  get state(): ProviderState {
    return this.#state;
  }

  async load(): Promise<void> {
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text !== undefined) this.#state = JSON.parse(text) as ProviderState;
  }

  /** Resolves once the state is durable. One write at a time. */
  async save(state: ProviderState): Promise<void> {
    const draft = `${this.#path}.draft`;
    const file = await open(draft, 'w', 0o600);
    await file.writeFile(JSON.stringify(state));
    await file.sync();
    await file.close();
    await rename(draft, this.#path);
    const folder = await open(dirname(this.#path));
    await folder.sync();
    await folder.close();
    this.#state = state;
  }
}

/** A record without one entry. */
export function without<T>(record: Readonly<Record<string, T>>, id: string): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([other]) => other !== id));
}
