import type { OperationKind } from '@kedge/driver-sdk';
import { Images } from './images.js';
import {
  type Disk,
  type DiskSnapshot,
  type Order,
  type ProviderOperation,
  type ProviderState,
  type StateFile,
  without,
} from './state.js';

/** The refusal of a request: an HTTP status and a machine-readable code. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** When operations end. */
export type Pace = { readonly type: 'onCommand' } | { readonly type: 'after'; readonly ms: number };

const makesDisk: readonly OperationKind[] = ['provision', 'restore'];

/**
 * The provider: accepts orders, executes them later, and keeps its records until {@link forget}. Orders
 * and their effects are durable before they are visible; one at a time changes the state.
 */
export class Engine {
  readonly #file: StateFile;
  readonly images: Images;
  #tail: Promise<unknown> = Promise.resolve();
  #pace: Pace = { type: 'after', ms: 20 };
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(file: StateFile, folder: string) {
    this.#file = file;
    this.images = new Images(folder);
  }

  get state(): ProviderState {
    return this.#file.state;
  }

  /** Continues the operations that an earlier process accepted. */
  resume(): void {
    for (const operation of this.#running()) this.#plan(operation);
  }

  set pace(pace: Pace) {
    this.#pace = pace;
  }

  #running(): readonly ProviderOperation[] {
    return Object.values(this.state.operations).filter(({ state }) => state === 'running');
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(work);
    this.#tail = done.catch(() => undefined);
    return done;
  }

  #plan({ id, endsAt }: ProviderOperation): void {
    if (endsAt === undefined) return;
    const waitMs = Math.max(0, endsAt - Date.now());
    this.#timers.set(
      id,
      setTimeout(() => void this.end(id, 'ended'), waitMs),
    );
  }

  /**
   * Accepts an order. The same key returns the same operation again, regardless of its outcome. @throws Refusal for a
   * key of another order, or an order that is not possible
   */
  begin(key: string, order: Order): Promise<ProviderOperation> {
    return this.#alone(async () => {
      const known = Object.values(this.state.operations).find(
        (one) => one.key === key && one.isForgotten !== true,
      );
      if (known) {
        if (JSON.stringify(known.order) === JSON.stringify(order)) return known;
        throw new Refusal(
          422,
          'key_used',
          `key ${key} was used for another order, operation ${known.id}`,
        );
      }
      const { next } = this.state;
      const id = `op-${next}`;
      const { target, state } = await this.#accept(id, order);
      const endsAt = this.#pace.type === 'after' ? { endsAt: Date.now() + this.#pace.ms } : {};
      const operation: ProviderOperation = { id, key, order, target, state: 'running', ...endsAt };
      await this.#file.save({
        ...state,
        next: next + 1,
        operations: { ...state.operations, [id]: operation },
      });
      this.#plan(operation);
      return operation;
    });
  }

  async #accept(
    id: string,
    order: Order,
  ): Promise<{ readonly target: string; readonly state: ProviderState }> {
    const { state } = this;
    const { kind, uid, sizeBytes = 0, source = '' } = order;
    if (makesDisk.includes(kind)) {
      if (kind === 'restore' && state.snapshots[source]?.state !== 'available')
        throw new Refusal(404, 'not_found', `there is no snapshot ${source}`);
      const target = `disk-${this.state.next}`;
      const disk: Disk = { id: target, uid, sizeBytes, state: 'creating', busyWith: id };
      return { target, state: { ...state, disks: { ...state.disks, [target]: disk } } };
    }
    if (kind === 'createSnapshot') {
      const from = this.#free(Object.values(state.disks).find((disk) => disk.id === source));
      const target = `snapshot-${this.state.next}`;
      // The point in time is that of the order, regardless of the time needed to store it.
      await this.images.copy(from.id, target);
      const size = from.sizeBytes;
      const made: DiskSnapshot = { id: target, uid, sizeBytes: size, state: 'creating' };
      const snapshots = { ...state.snapshots, [target]: { ...made, busyWith: id } };
      return { target, state: { ...state, snapshots } };
    }
    if (kind === 'deleteSnapshot') {
      const snapshot = this.#free(this.snapshotsOf(uid)[0]);
      const snapshots = { ...state.snapshots, [snapshot.id]: { ...snapshot, busyWith: id } };
      return { target: snapshot.id, state: { ...state, snapshots } };
    }
    const disk = this.#free(this.disksOf(uid)[0]);
    const isFree = disk.instance === undefined || disk.instance === order.instance;
    if ((kind === 'delete' && disk.instance !== undefined) || (kind === 'attach' && !isFree))
      throw new Refusal(409, 'in_use', `${disk.id} is attached to ${disk.instance ?? ''}`);
    const disks = { ...state.disks, [disk.id]: { ...disk, busyWith: id } };
    return { target: disk.id, state: { ...state, disks } };
  }

  #free<T extends Disk | DiskSnapshot>(found: T | undefined): T {
    if (!found) throw new Refusal(404, 'not_found', 'the object does not exist');
    if (found.busyWith === undefined) return found;
    throw new Refusal(409, 'busy', `${found.busyWith} is under way for ${found.id}`);
  }

  disksOf(uid: string): readonly Disk[] {
    return Object.values(this.state.disks).filter((disk) => disk.uid === uid);
  }

  snapshotsOf(uid: string): readonly DiskSnapshot[] {
    return Object.values(this.state.snapshots).filter((snapshot) => snapshot.uid === uid);
  }

  /** Ends a running operation, with or without its effect. */
  end(id: string, outcome: 'ended' | 'failed'): Promise<void> {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    return this.#alone(async () => {
      const operation = this.state.operations[id];
      if (operation?.state !== 'running') return;
      const after =
        outcome === 'ended' ? await this.#effect(operation) : await this.#withdraw(operation);
      const operations = { ...after.operations, [id]: { ...operation, state: outcome } };
      await this.#file.save({ ...after, operations });
    });
  }

  /** Ends all running operations. */
  async endAll(outcome: 'ended' | 'failed'): Promise<void> {
    for (const { id } of this.#running()) await this.end(id, outcome);
  }

  async #effect({ order, target }: ProviderOperation): Promise<ProviderState> {
    const { state, images } = this;
    const { kind, uid, sizeBytes = 0, instance, source = '' } = order;
    const disk = state.disks[target];
    const { busyWith: _, ...free } = disk ?? ({} as Disk);
    const changed = (next: Disk): ProviderState => ({
      ...state,
      disks: { ...state.disks, [target]: next },
    });
    switch (kind) {
      case 'restore':
        await images.copy(source, target);
        await images.make(target, sizeBytes);
        return changed({ ...free, state: 'available' });
      case 'provision':
        await images.make(target, sizeBytes);
        return changed({ ...free, state: 'available' });
      case 'delete':
        await images.remove(target);
        return { ...state, disks: without(state.disks, target) };
      case 'attach':
        await images.attach(target, uid);
        return changed({ ...free, ...(instance === undefined ? {} : { instance }) });
      case 'detach': {
        await images.detach(target, uid);
        const { instance: _left, ...detached } = free;
        return changed(detached);
      }
      case 'expand':
        await images.make(target, sizeBytes);
        await images.grown(target);
        return changed({ ...free, sizeBytes: Math.max(sizeBytes, free.sizeBytes) });
      case 'createSnapshot': {
        const { busyWith: _made, ...made } = state.snapshots[target] ?? ({} as DiskSnapshot);
        const ready: DiskSnapshot = { ...made, state: 'available' };
        return { ...state, snapshots: { ...state.snapshots, [target]: ready } };
      }
      case 'deleteSnapshot':
        await images.remove(target);
        return { ...state, snapshots: without(state.snapshots, target) };
    }
  }

  /** Applies a failed operation: no new object, and the others unchanged. */
  async #withdraw({ order, target }: ProviderOperation): Promise<ProviderState> {
    const { state } = this;
    if (makesDisk.includes(order.kind)) return { ...state, disks: without(state.disks, target) };
    if (order.kind === 'createSnapshot') {
      await this.images.remove(target);
      return { ...state, snapshots: without(state.snapshots, target) };
    }
    const free = <T extends Disk | DiskSnapshot>(record: Readonly<Record<string, T>>) =>
      Object.fromEntries(
        Object.entries(record).map(([id, { busyWith, ...one }]) => [
          id,
          id === target || busyWith === undefined ? one : { ...one, busyWith },
        ]),
      ) as unknown as Readonly<Record<string, T>>;
    return { ...state, disks: free(state.disks), snapshots: free(state.snapshots) };
  }

  /** Forgets the ids and keys of all operations. Running operations continue. */
  forget(): Promise<void> {
    return this.#alone(async () => {
      const operations = Object.fromEntries(
        Object.entries(this.state.operations).map(([id, one]) => [
          id,
          { ...one, isForgotten: true },
        ]),
      );
      await this.#file.save({ ...this.state, operations });
    });
  }
}
