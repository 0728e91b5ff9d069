import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { OperationKind } from '@kedge/driver-sdk';

/** A disk of the provider. Nothing keeps two of them from having one uid: that is for drivers to see to. */
export interface Disk {
  readonly id: string;
  /** The tag that its maker gave it. */
  readonly uid: string;
  readonly sizeBytes: number;
  readonly state: 'creating' | 'available';
  /** The operation that changes it now: until that has ended, another one is refused. */
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

/** What an operation is asked to do. */
export interface Order {
  readonly kind: OperationKind;
  /** Of the disk or snapshot that it makes or changes. */
  readonly uid: string;
  readonly sizeBytes?: number;
  readonly instance?: string;
  /** Id of the disk that a snapshot is made of, or of the snapshot that a disk is made of. */
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
  /** It goes on, and nobody can ask for it any more. */
  readonly isForgotten?: boolean;
}

/** All that the provider knows, as its file has it. */
export interface ProviderState {
  readonly next: number;
  readonly disks: Readonly<Record<string, Disk>>;
  readonly snapshots: Readonly<Record<string, DiskSnapshot>>;
  readonly operations: Readonly<Record<string, ProviderOperation>>;
}

const nothing: ProviderState = { next: 1, disks: {}, snapshots: {}, operations: {} };

/** The state in a file that is replaced as a whole: a kill leaves the one before or the one after. */
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

  /** Resolves once it is durable. One at a time. */
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
