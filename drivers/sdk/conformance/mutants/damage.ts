import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, realpath, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {
  CallContext,
  DeleteRequest,
  HandleRequest,
  ProvisionRequest,
  SnapshotIdentity,
  SnapshotRequest,
  VolumeIdentity,
} from '../../contract/driver.js';
import type { SynchronousDriver } from '../../provider/synchronous-driver.js';
import { DriverError } from '../../errors/errors.js';
import { memoryOperations } from '../../contract/operations.js';
import type { KnownVolume, MutantMemory } from './mutant.js';

/** A signal that is never aborted: the calls that a mutant makes itself are not cancelled. */
const freshSignal = (): AbortSignal => new AbortController().signal;

/** Whether a driver has the volume. @throws every error of `observe` except NotFound */
export async function exists(driver: SynchronousDriver, context: CallContext): Promise<boolean> {
  return driver.observe({ ...context, signal: freshSignal(), handle: undefined }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof DriverError && error.kind === 'NotFound') return false;
      throw error;
    },
  );
}

/** Returns the oldest existing volume that matches; undefined if none does. */
export function findVolume(
  memory: MutantMemory,
  fits: (volume: VolumeIdentity) => boolean,
): KnownVolume | undefined {
  return [...memory.volumes.values()].find(({ volume }) => fits(volume));
}

/** Returns the recorded mount of a volume; undefined if it is not mounted. */
export function mountOf(
  memory: MutantMemory,
  { uid }: VolumeIdentity,
): ReturnType<MutantMemory['mounted']['get']> {
  return [...memory.mounted.values()].find(({ volume }) => volume.uid === uid);
}

/** Runs work on the content of a volume. One that is not mounted is mounted for it, and formatted if it is blank. */
export async function withContent(
  driver: SynchronousDriver,
  memory: MutantMemory,
  known: HandleRequest,
  work: (path: string) => Promise<unknown>,
): Promise<void> {
  const there = mountOf(memory, known.volume);
  if (there) {
    await work(there.path);
    return;
  }
  const { volume, parameters, node, handle, operations } = known;
  const call = { volume, parameters, node, handle, signal: freshSignal(), operations };
  const before = memory.attached.has(volume.uid);
  const { devicePath } = await driver.attach(call);
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'kedge-mutant-'));
  const mount = { ...call, devicePath, target: join(folder, 'target'), readOnly: false };
  const { path } = await driver.mount({ ...mount, mayFormat: true });
  try {
    await work(path);
  } finally {
    await driver.unmount(mount);
    if (!before) await driver.detach(call);
    await rmdir(folder);
  }
}

/** Empties a volume. */
export function erase(
  driver: SynchronousDriver,
  memory: MutantMemory,
  known: HandleRequest,
): Promise<void> {
  return withContent(driver, memory, known, async (path) => {
    for (const name of await readdir(path))
      if (name !== 'lost+found') await rm(join(path, name), { recursive: true });
  });
}

/** Creates a second resource beside the requested volume. Returns its handle. */
export async function makeStray(
  driver: SynchronousDriver,
  memory: MutantMemory,
  request: ProvisionRequest,
): Promise<string> {
  const uid = randomUUID();
  const operations = memoryOperations();
  const stray = {
    ...request,
    signal: freshSignal(),
    operations,
    volume: { ...request.volume, uid },
  };
  memory.strays.set(uid, stray);
  return (await driver.provision(stray)).handle;
}

/** The request for a snapshot that the mutant creates itself. The mutant removes it later. */
export function straySnapshot(memory: MutantMemory, source: HandleRequest): SnapshotRequest {
  const { volume, parameters, node, handle } = source;
  const operations = memoryOperations();
  const snapshot: SnapshotIdentity = { uid: randomUUID(), name: 'stray', namespace: 'default' };
  const request = { volume, parameters, node, handle, signal: freshSignal(), operations, snapshot };
  memory.straySnapshots.set(snapshot.uid, request);
  return request;
}

/** The handle of a volume that uses another one's storage. */
function shownHandle(real: KnownVolume, volume: VolumeIdentity): string {
  const { handle } = real;
  return handle.includes(real.volume.uid)
    ? handle.replaceAll(real.volume.uid, volume.uid)
    : `${handle}-${volume.uid}`;
}

/**
 * Redirects the calls for some volumes to another volume's storage, under a separate handle.
 * @param realOf the volume with the storage; undefined for a volume with its own.
 */
export function aliasing(
  driver: SynchronousDriver,
  realOf: (volume: VolumeIdentity) => KnownVolume | undefined,
): Partial<SynchronousDriver> {
  const to = <R extends HandleRequest | DeleteRequest>(request: R): R => {
    const real = realOf(request.volume);
    if (!real) return request;
    const handle = request.handle === undefined ? undefined : real.handle;
    return { ...request, volume: real.volume, handle };
  };
  return {
    provision: async (request) => {
      const real = realOf(request.volume);
      if (!real) return driver.provision(request);
      const { sizeBytes } = await driver.provision({ ...request, volume: real.volume });
      return { sizeBytes, handle: shownHandle(real, request.volume) };
    },
    observe: async (request) => {
      const real = realOf(request.volume);
      if (!real) return driver.observe(request);
      const found = await driver.observe(to(request));
      return { ...found, handle: shownHandle(real, request.volume) };
    },
    delete: (request) => driver.delete(to(request)),
    attach: (request) => driver.attach(to(request)),
    detach: (request) => driver.detach(to(request)),
    mount: (request) => driver.mount(to(request)),
    unmount: (request) => driver.unmount(to(request)),
    expand: (request) => driver.expand(to(request)),
    createSnapshot: (request) => driver.createSnapshot(to(request)),
  };
}
