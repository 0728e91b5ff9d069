import {
  attachLoop,
  blockPrograms,
  requireCommand,
  requireLoopOf,
  requireOwnFile,
  requireSameFile,
  requirePrograms,
  requireUnused,
  detachLoops,
  DriverError,
  type FsType,
  growMounted,
  type HostFiles,
  loopOf,
  loopsOf,
  makeFileSystem,
  mountBlockDevice,
  mountOfLoop,
  type MountRequest,
  type MountResult,
  type NodeHost,
  type NodeJournal,
  type NodeState,
  type Parameters,
  unmountTarget,
} from '@kedge/driver-sdk';
import { copyImage } from './copy.js';
import { requireFileSystem } from './image-content.js';
import { copyMountedImage } from './mounted-copy.js';
import { makeWhole, type Place } from './paths.js';

/** Smallest images that hold a file system (mkfs refuses less). */
const bytesMin: Readonly<Record<FsType, bigint>> = {
  ext4: 1n << 21n,
  xfs: 300n * (1n << 20n),
};
const sectorBytes = 512n;

function fsTypeOf(parameters: Parameters): FsType {
  return parameters.fsType === 'xfs' ? 'xfs' : 'ext4';
}

/** The size of an image: whole sectors, at least the minimum of its file system. */
function imageBytes(asked: bigint, parameters: Parameters): bigint {
  const min = bytesMin[fsTypeOf(parameters)];
  const wanted = asked < min ? min : asked;
  return ((wanted + sectorBytes - 1n) / sectorBytes) * sectorBytes;
}

async function setSize(files: HostFiles, path: string, bytes: bigint): Promise<void> {
  if (bytes > BigInt(Number.MAX_SAFE_INTEGER))
    throw new DriverError(
      'InvalidParameters',
      `${bytes} bytes exceed the maximum size of an image; request a smaller size`,
    );
  await files.extend(path, Number(bytes));
}

/** Size of an image file. @throws DriverError NotFound. */
export async function sizeOfImage(files: HostFiles, path: string): Promise<bigint> {
  if ((await files.kindAt(path)) === 'file') return files.size(path);
  throw new DriverError('NotFound', `${path} does not exist`);
}

/** The programs that image volumes need besides {@link blockPrograms}. */
const programs = ['losetup', 'fsfreeze', 'setpriv'] as const;

/** The programs of image volumes of a class. */
export function imagePrograms(parameters: Parameters): readonly string[] {
  return [...programs, ...blockPrograms.all, ...blockPrograms[fsTypeOf(parameters)]];
}

function loopState({ uid, image }: Place): Extract<NodeState, { type: 'loop' }> {
  return { type: 'loop', uid, file: image };
}

/**
 * Volumes that are file systems in image files on loop devices: sizes are enforced. The caller must serialize calls
 * per volume.
 */
export class ImageVolumes {
  readonly #host: NodeHost;
  readonly #journal: NodeJournal;

  constructor(host: NodeHost, journal: NodeJournal) {
    this.#host = host;
    this.#journal = journal;
  }

  /**
   * Creates a sparse image with a file system, and returns its size in bytes. It is at `path` once it is complete. An
   * existing image is never formatted.
   */
  async make(
    path: string,
    asked: bigint,
    parameters: Parameters,
    signal: AbortSignal,
  ): Promise<bigint> {
    const fsType = fsTypeOf(parameters);
    await makeWhole(this.#host, path, async (draft) => {
      await requirePrograms(this.#host.run, imagePrograms(parameters), signal);
      await setSize(this.#host.files, draft, imageBytes(asked, parameters));
      await makeFileSystem(this.#host, draft, fsType, signal);
      await requireCommand(this.#host.run, 'sync', [draft], signal);
    });
    return sizeOfImage(this.#host.files, path);
  }

  /**
   * Copies an image, enlarges it if requested, and returns its size in bytes. Its file system grows at the first mount.
   */
  async restore(from: string, path: string, asked: bigint, signal: AbortSignal): Promise<bigint> {
    await sizeOfImage(this.#host.files, from);
    await makeWhole(this.#host, path, async (draft) => {
      await copyImage(this.#host.run, from, draft, signal);
      await setSize(this.#host.files, draft, imageBytes(asked, {}));
    });
    return sizeOfImage(this.#host.files, path);
  }

  /** Attaches an image to a loop device, and returns the device. @throws DriverError InUse if the image was replaced */
  async attach(place: Place, signal: AbortSignal): Promise<string> {
    const { files } = this.#host;
    await sizeOfImage(files, place.image);
    await this.#requireSame(place, signal);
    const identity = await files.identity(place.image);
    const state = { ...loopState(place), ...(identity === undefined ? {} : { identity }) };
    return this.#journal.make(state, () => attachLoop(this.#host, place.image, signal));
  }

  /** Mounts an image without formatting: its file system was created with it. */
  mount({ uid, image }: Place, request: MountRequest): Promise<MountResult> {
    const identify = async (device: string): Promise<true> => {
      await requireLoopOf(this.#host, device, image, request.signal);
      return true;
    };
    return this.#journal.make({ type: 'mount', uid, target: request.target }, () =>
      mountBlockDevice(
        { ...request, mayFormat: false },
        // The loop device of the image needs no link.
        { host: this.#host, identify, hasSerial: () => Promise.resolve(true) },
      ),
    );
  }

  /** Unmounts an image, also one that was removed while mounted. */
  async unmount(place: Place, target: string, signal: AbortSignal): Promise<void> {
    const { uid, image } = place;
    const record = await this.#journal.loopRecord(loopState(place));
    // If the file was replaced, the last device has the mounted file.
    const device = (await loopsOf(this.#host, image, signal, record)).at(-1);
    await this.#journal.undo({ type: 'mount', uid, target }, () =>
      unmountTarget(target, signal, this.#host, device),
    );
  }

  /** Whether an image may have a loop device. */
  isAttached(place: Place): Promise<boolean> {
    return this.#journal.has(loopState(place));
  }

  /** Detaches an image, also one that was removed while attached. */
  async detach(place: Place, signal: AbortSignal): Promise<void> {
    const state = loopState(place);
    const record = await this.#journal.loopRecord(state);
    await this.#journal.undo(state, () => detachLoops(this.#host, place.image, signal, record));
  }

  /**
   * Like {@link detach}, before the image is deleted.
   * @throws DriverError InUse also while its file belongs to another volume
   */
  async detachForDeletion(place: Place, signal: AbortSignal): Promise<void> {
    await this.#requireSame(place, signal);
    await this.detach(place, signal);
  }

  /**
   * Refuses a replaced image.
   * @throws DriverError InUse while the path of the attached image has another file, or a file that is attached for
   *   another volume
   */
  async #requireSame(place: Place, signal: AbortSignal): Promise<void> {
    const record = await this.#journal.loopRecord(loopState(place));
    await requireSameFile(this.#host, place.image, signal, record);
    await requireOwnFile(this.#host, place.image, signal, record);
  }

  /**
   * Grows the image, and its file system if it is mounted and can grow online. A truncated image does not grow: zeros
   * in place of its lost part would look like data.
   */
  async grow(
    place: Place,
    asked: bigint,
    parameters: Parameters,
    signal: AbortSignal,
  ): Promise<{ readonly sizeBytes: bigint; readonly fileSystemPending: boolean }> {
    const path = place.image;
    await sizeOfImage(this.#host.files, path);
    await this.#requireSame(place, signal);
    await requireFileSystem(this.#host, path, path, signal);
    await setSize(this.#host.files, path, imageBytes(asked, parameters));
    const device = await loopOf(this.#host.run, path, signal);
    let grown = false;
    if (device !== undefined) {
      await requireCommand(this.#host.run, 'losetup', ['--set-capacity', device], signal);
      const mounted = await mountOfLoop(this.#host, device);
      const fsType = mounted?.fsType === 'xfs' ? 'xfs' : 'ext4';
      if (mounted)
        grown = await growMounted(this.#host.run, device, mounted.target, fsType, signal);
    }
    return { sizeBytes: await sizeOfImage(this.#host.files, path), fileSystemPending: !grown };
  }

  /**
   * Copies the image at one point in time, with its file system frozen if it is mounted. Returns the size of the copy
   * in bytes.
   * @throws DriverError NotFound if the image no longer contains a complete file system, InUse if it was replaced, or
   * is used without a mount in this mount namespace
   */
  async snapshot(place: Place, to: string, signal: AbortSignal): Promise<bigint> {
    const { uid, image } = place;
    await sizeOfImage(this.#host.files, image);
    await this.#requireSame(place, signal);
    const host = this.#host;
    const { run } = host;
    await makeWhole(host, to, async (draft) => {
      const device = await loopOf(run, image, signal);
      const mounted = device === undefined ? undefined : await mountOfLoop(this.#host, device);
      if (device !== undefined && mounted) {
        const source = { uid, image, device, target: mounted.target };
        await copyMountedImage({ host, journal: this.#journal, source, draft, signal });
      } else {
        if (device !== undefined) await requireUnused(device, host);
        await copyImage(run, image, draft, signal);
      }
      await requireFileSystem(host, draft, image, signal);
    });
    return sizeOfImage(this.#host.files, to);
  }
}
