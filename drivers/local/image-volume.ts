import { open } from 'node:fs/promises';
import {
  attachLoop,
  demandCommand,
  demandPrograms,
  demandUnused,
  detachLoops,
  DriverError,
  type FsType,
  growMounted,
  loopOf,
  loopsOf,
  makeFileSystem,
  mountBlockDevice,
  mountOfLoop,
  type MountRequest,
  type MountResult,
  type NodeJournal,
  type NodeState,
  type Parameters,
  type RunCommand,
  unmountTarget,
} from '@kedge/driver-sdk';
import { copyImage } from './copy.js';
import { copyMountedImage } from './mounted-copy.js';
import { kindAt, makeWhole, type Place } from './paths.js';

/** Smallest images that hold a file system (mkfs refuses less). */
const bytesMin: Readonly<Record<FsType, bigint>> = {
  ext4: 1n << 21n,
  xfs: 300n * (1n << 20n),
};
const sectorBytes = 512n;

function fsTypeOf(parameters: Parameters): FsType {
  return parameters.fsType === 'xfs' ? 'xfs' : 'ext4';
}

/** The size an image gets: whole sectors, and at least what its file system needs. */
export function imageBytes(asked: bigint, parameters: Parameters): bigint {
  const min = bytesMin[fsTypeOf(parameters)];
  const wanted = asked < min ? min : asked;
  return ((wanted + sectorBytes - 1n) / sectorBytes) * sectorBytes;
}

async function setSize(path: string, bytes: bigint): Promise<void> {
  if (bytes > BigInt(Number.MAX_SAFE_INTEGER))
    throw new DriverError('InvalidParameters', `${bytes} bytes are more than an image can have`);
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    if (BigInt(size) < bytes) await file.truncate(Number(bytes));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Size of an image file. @throws DriverError NotFound. */
export async function sizeOfImage(path: string): Promise<bigint> {
  if ((await kindAt(path)) !== 'file') throw new DriverError('NotFound', `${path} does not exist`);
  const file = await open(path, 'r');
  try {
    return BigInt((await file.stat()).size);
  } finally {
    await file.close();
  }
}

/** What a volume needs from its making to its last snapshot. */
const programs = {
  all: ['losetup', 'mount', 'umount', 'blkid', 'blockdev', 'fsfreeze', 'setpriv'],
  ext4: ['mkfs.ext4', 'e2fsck', 'resize2fs', 'dumpe2fs'],
  xfs: ['mkfs.xfs', 'xfs_growfs'],
} as const;

function loopState({ uid, image }: Place): NodeState {
  return { type: 'loop', uid, file: image };
}

/**
 * Volumes that are file systems in image files on loop devices: sizes are enforced. Of one volume one call
 * is made at a time; the caller sees to that.
 */
export class ImageVolumes {
  readonly #run: RunCommand;
  readonly #journal: NodeJournal;

  constructor(run: RunCommand, journal: NodeJournal) {
    this.#run = run;
    this.#journal = journal;
  }

  /** A sparse image with a file system. Formatted under another name: an image at `path` never is. */
  async make(
    path: string,
    asked: bigint,
    parameters: Parameters,
    signal: AbortSignal,
  ): Promise<bigint> {
    const fsType = fsTypeOf(parameters);
    await makeWhole(path, async (draft) => {
      await demandPrograms(this.#run, [...programs.all, ...programs[fsType]], signal);
      await setSize(draft, imageBytes(asked, parameters));
      await makeFileSystem(this.#run, draft, fsType, signal);
      await demandCommand(this.#run, 'sync', [draft], signal);
    });
    return sizeOfImage(path);
  }

  /** A copy of an image, made larger where asked; its file system grows at the first mount. */
  async restore(from: string, path: string, asked: bigint, signal: AbortSignal): Promise<bigint> {
    await sizeOfImage(from);
    await makeWhole(path, async (draft) => {
      await copyImage(this.#run, from, draft, signal);
      await setSize(draft, imageBytes(asked, {}));
    });
    return sizeOfImage(path);
  }

  async attach(place: Place, signal: AbortSignal): Promise<string> {
    await sizeOfImage(place.image);
    const attach = (): Promise<string> => attachLoop(this.#run, place.image, signal);
    return this.#journal.make(loopState(place), attach);
  }

  /** Its file system was made with the image, so none is ever made here. */
  mount({ uid }: Place, request: MountRequest): Promise<MountResult> {
    return this.#journal.make({ type: 'mount', uid, target: request.target }, () =>
      mountBlockDevice({ ...request, mayFormat: false }, { run: this.#run }),
    );
  }

  /** Also of an image that somebody removed while it was mounted. */
  async unmount({ uid, image }: Place, target: string, signal: AbortSignal): Promise<void> {
    const [device] = await loopsOf(this.#run, image, signal);
    await this.#journal.undo({ type: 'mount', uid, target }, () =>
      unmountTarget(target, signal, this.#run, device),
    );
  }

  /** Whether a loop device may have been left for an image. */
  isAttached(place: Place): Promise<boolean> {
    return this.#journal.has(loopState(place));
  }

  /** Also of an image that somebody removed while it was attached. */
  async detach(place: Place, signal: AbortSignal): Promise<void> {
    const detach = (): Promise<void> => detachLoops(this.#run, place.image, signal);
    await this.#journal.undo(loopState(place), detach);
  }

  /** Grows the image, and the file system where it is mounted and can grow there. */
  async grow(
    path: string,
    asked: bigint,
    parameters: Parameters,
    signal: AbortSignal,
  ): Promise<{ readonly sizeBytes: bigint; readonly fileSystemPending: boolean }> {
    await sizeOfImage(path);
    await setSize(path, imageBytes(asked, parameters));
    const device = await loopOf(this.#run, path, signal);
    let grown = false;
    if (device !== undefined) {
      await demandCommand(this.#run, 'losetup', ['--set-capacity', device], signal);
      const mounted = await mountOfLoop(device);
      const fsType = mounted?.fsType === 'xfs' ? 'xfs' : 'ext4';
      if (mounted) grown = await growMounted(this.#run, device, mounted.target, fsType, signal);
    }
    return { sizeBytes: await sizeOfImage(path), fileSystemPending: !grown };
  }

  /**
   * A copy at one point in time. While it is mounted its file system is frozen; mounted only where this
   * process does not see it, it is not copied.
   */
  async snapshot({ uid, image }: Place, to: string, signal: AbortSignal): Promise<bigint> {
    await sizeOfImage(image);
    const run = this.#run;
    await makeWhole(to, async (draft) => {
      const device = await loopOf(run, image, signal);
      const mounted = device === undefined ? undefined : await mountOfLoop(device);
      if (device !== undefined && mounted) {
        const source = { uid, image, device, target: mounted.target };
        await copyMountedImage({ run, journal: this.#journal, source, draft, signal });
        return;
      }
      if (device !== undefined) await demandUnused(device);
      await copyImage(run, image, draft, signal);
    });
    return sizeOfImage(to);
  }
}
