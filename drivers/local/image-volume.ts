import { open } from 'node:fs/promises';
import {
  demandCommand,
  demandUnused,
  DriverError,
  type FsType,
  growMounted,
  makeFileSystem,
  mountBlockDevice,
  type MountRequest,
  type MountResult,
  type Parameters,
  type RunCommand,
  unmountTarget,
} from '@kedge/driver-sdk';
import { copyFrozenImage, copyImage } from './copy.js';
import { attachLoop, loopOf, mountOfLoop } from './loop-device.js';
import { kindAt, makeWhole } from './paths.js';

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

/** Volumes that are file systems in image files on loop devices: sizes are enforced. */
export class ImageVolumes {
  readonly #run: RunCommand;

  constructor(run: RunCommand) {
    this.#run = run;
  }

  /** A sparse image with a file system. Formatted under another name: an image at `path` never is. */
  async make(
    path: string,
    asked: bigint,
    parameters: Parameters,
    signal: AbortSignal,
  ): Promise<bigint> {
    await makeWhole(path, async (draft) => {
      await setSize(draft, imageBytes(asked, parameters));
      await makeFileSystem(this.#run, draft, fsTypeOf(parameters), signal);
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

  async attach(path: string, signal: AbortSignal): Promise<string> {
    await sizeOfImage(path);
    return attachLoop(this.#run, path, signal);
  }

  /** Its file system was made with the image, so none is ever made here. */
  mount(request: MountRequest): Promise<MountResult> {
    return mountBlockDevice({ ...request, mayFormat: false }, { run: this.#run });
  }

  async unmount(path: string, target: string, signal: AbortSignal): Promise<void> {
    await unmountTarget(target, signal, this.#run, await loopOf(this.#run, path, signal));
  }

  async detach(path: string, signal: AbortSignal): Promise<void> {
    const device = await loopOf(this.#run, path, signal);
    if (device === undefined) return;
    await demandUnused(device);
    await demandCommand(this.#run, 'losetup', ['--detach', device], signal);
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

  /** A copy at one point in time: while it is mounted its file system is frozen. */
  async snapshot(path: string, to: string, signal: AbortSignal): Promise<bigint> {
    await sizeOfImage(path);
    const device = await loopOf(this.#run, path, signal);
    const mounted = device === undefined ? undefined : await mountOfLoop(device);
    await makeWhole(to, (draft) =>
      mounted
        ? copyFrozenImage(this.#run, mounted.target, path, draft, signal)
        : copyImage(this.#run, path, draft, signal),
    );
    return sizeOfImage(to);
  }
}
