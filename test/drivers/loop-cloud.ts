import {
  awaitOperation,
  type BlockProvider,
  createBlockDriver,
  type Driver,
  DriverError,
  inTurn,
  type Observed,
  type OperationKind,
  type Operations,
  type Pending,
  type ProvisionResult,
  type SnapshotResult,
} from '@kedge/driver-sdk';
import { ProviderCalls } from './provider/calls.js';
import { deviceOf, linkOf } from './provider/images.js';
import type { Disk, DiskSnapshot, Order } from './provider/state.js';

/** Options of {@link loopCloud}. */
export interface LoopCloudOptions {
  /** The provider's folder. */
  readonly folder: string;
  /** Default: loop-cloud. */
  readonly name?: string;
  /** Requested poll interval of an operation in progress, milliseconds. */
  readonly pollAfterMs?: number;
}

/** The inputs for following an operation. */
interface Asked {
  readonly signal: AbortSignal;
  readonly operations: Operations;
}

/** Operations of a volume or snapshot that must have ended before one of the given kind begins. */
const follows: Readonly<Partial<Record<OperationKind, readonly OperationKind[]>>> = {
  delete: ['provision', 'restore', 'attach', 'detach', 'expand'],
  attach: ['detach'],
  detach: ['attach'],
  deleteSnapshot: ['createSnapshot'],
};

const absent: Observed<never> = { type: 'absent' };
const underWay: Observed<never> = { type: 'underWay' };

function found<R>(result: R): Observed<R> {
  return { type: 'done', result };
}

/** @throws DriverError NotFound */
function requirePresent<T>(one: T | undefined, uid: string): T {
  if (one !== undefined) return one;
  throw new DriverError('NotFound', `the provider has nothing of ${uid}`);
}

/** @throws DriverError InvalidParameters for the handle of another volume */
function requireOwn(one: Disk | undefined, uid: string, handle: string | undefined): void {
  if (!one || handle === undefined || one.id === handle) return;
  throw new DriverError('InvalidParameters', `${handle} is not of volume ${uid}`);
}

function provisioned({ id, sizeBytes }: Disk): ProvisionResult {
  return { handle: id, sizeBytes: BigInt(sizeBytes) };
}

function copied({ id, sizeBytes, state }: DiskSnapshot): SnapshotResult {
  return { handle: id, restoreSizeBytes: BigInt(sizeBytes), ready: state === 'available' };
}

/**
 * A driver of an asynchronous provider, for tests. The provider is a separate process whose disks are image
 * files, and each change of one is an operation with an id. The driver's records are in `request.operations`.
 */
export function loopCloud(options: LoopCloudOptions): Driver {
  const { folder, name = 'loop-cloud', pollAfterMs = 100 } = options;
  const calls = new ProviderCalls(folder);

  const carryOut = <R>(
    { operations, signal }: Asked,
    order: Order,
    observe: () => Promise<Observed<R>>,
  ): Promise<R | Pending> => {
    const { kind, uid } = order;
    const operation = {
      observe,
      start: (key: string) => calls.start(order, key, signal),
      state: (id: string) => calls.state(id, signal),
    };
    const options = { pollAfterMs, after: follows[kind] ?? [] };
    return inTurn(`loop-cloud ${uid}`, () =>
      awaitOperation({ operations, signal }, kind, operation, options),
    );
  };

  /** A read of a disk that no operation is changing. */
  const disk =
    <R>(uid: string, signal: AbortSignal, resultOf: (one: Disk | undefined) => Observed<R>) =>
    async (): Promise<Observed<R>> => {
      const one = await calls.disk(uid, signal);
      return one?.busyWith === undefined ? resultOf(one) : underWay;
    };

  const make = (request: Asked, order: Order): Promise<ProvisionResult | Pending> =>
    carryOut(
      request,
      order,
      disk(order.uid, request.signal, (one) => (one ? found(provisioned(one)) : absent)),
    );

  const provider: BlockProvider = {
    name,
    instances: {
      lookups: [{ by: 'name', find: ({ node, signal }) => calls.instances(node, signal) }],
      place: () => 'zone "here"',
    },
    parameters: [
      { key: 'token', sensitive: true },
      { key: 'encrypted', values: ['true', 'false'] },
    ],
    create: (request) => {
      const { uid } = request.volume;
      return make(request, { kind: 'provision', uid, sizeBytes: Number(request.sizeBytes) });
    },
    observe: async ({ volume: { uid }, signal }) => {
      const one = requirePresent(await calls.disk(uid, signal), uid);
      if (one.state === 'available') return provisioned(one);
      throw new DriverError('Unavailable', `${one.id} is still being made`);
    },
    delete: async (request) => {
      const { volume, handle, signal } = request;
      const { uid } = volume;
      requireOwn(await calls.disk(uid, signal), uid, handle);
      const gone = disk(uid, signal, (one) => (one ? absent : found(undefined)));
      return carryOut(request, { kind: 'delete', uid }, gone);
    },
    attach: async (request) => {
      const { volume, handle, instance, signal } = request;
      const { uid } = volume;
      requireOwn(requirePresent(await calls.disk(uid, signal), uid), uid, handle);
      const there = disk(uid, signal, (one) =>
        requirePresent(one, uid).instance === instance
          ? found({ devicePath: linkOf(folder, uid) })
          : absent,
      );
      return carryOut(request, { kind: 'attach', uid, instance }, there);
    },
    detach: async (request) => {
      const { volume, handle, instance, signal } = request;
      const { uid } = volume;
      requireOwn(await calls.disk(uid, signal), uid, handle);
      const away = disk(uid, signal, (one) =>
        one?.instance !== undefined && one.instance === instance ? absent : found(undefined),
      );
      return carryOut(request, { kind: 'detach', uid }, away);
    },
    devicePath: ({ volume }) => deviceOf(folder, volume.uid),
    identify: async (device, { volume }) => (await deviceOf(folder, volume.uid)) === device,
    expansion: {
      online: true,
      grow: async (request) => {
        const { volume, handle, sizeBytes, signal } = request;
        const { uid } = volume;
        requireOwn(requirePresent(await calls.disk(uid, signal), uid), uid, handle);
        const grown = disk(uid, signal, (one) => {
          const reached = BigInt(requirePresent(one, uid).sizeBytes);
          return reached >= sizeBytes ? found(reached) : absent;
        });
        return carryOut(request, { kind: 'expand', uid, sizeBytes: Number(sizeBytes) }, grown);
      },
    },
    snapshots: {
      create: (request) => {
        const { volume, handle, signal } = request;
        const { uid } = request.snapshot;
        const observe = async (): Promise<Observed<SnapshotResult>> => {
          const one = await calls.snapshot(uid, signal);
          if (one) return one.busyWith === undefined ? found(copied(one)) : underWay;
          const source = requirePresent(await calls.disk(volume.uid, signal), volume.uid);
          requireOwn(source, volume.uid, handle);
          return source.busyWith === undefined ? absent : underWay;
        };
        return carryOut(request, { kind: 'createSnapshot', uid, source: handle }, observe);
      },
      observe: async ({ snapshot: { uid }, signal }) =>
        copied(requirePresent(await calls.snapshot(uid, signal), uid)),
      delete: (request) => {
        const { signal } = request;
        const { uid } = request.snapshot;
        const observe = async (): Promise<Observed<undefined>> => {
          const one = await calls.snapshot(uid, signal);
          if (!one) return found(undefined);
          return one.busyWith === undefined ? absent : underWay;
        };
        return carryOut(request, { kind: 'deleteSnapshot', uid }, observe);
      },
      restore: async (request) => {
        const { volume, sizeBytes, snapshot, signal } = request;
        const source = snapshot.handle;
        const taken = await calls.snapshot(snapshot.uid, signal);
        if (taken && taken.id !== source)
          throw new DriverError(
            'InvalidParameters',
            `${source} is not of snapshot ${snapshot.uid}`,
          );
        const size = Number(sizeBytes);
        return make(request, { kind: 'restore', uid: volume.uid, source, sizeBytes: size });
      },
    },
  };
  return createBlockDriver(provider, { deviceWaitMs: 2_000 });
}
