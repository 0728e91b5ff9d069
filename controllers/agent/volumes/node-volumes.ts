import { readdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Clock, sleep } from 'kedge';
import {
  type CallContext,
  type Driver,
  DriverError,
  type NodeHost,
  onNode,
  unmountTarget,
  untilOver,
} from '@kedge/driver-sdk';
import { rootNeeded } from '@kedge/driver-sdk/messages';
import type { VolumeMount } from '../../service/kind.js';
import type { Volume } from '../../volume/kind.js';
import {
  bindDirectory,
  isShutDown,
  openInside,
  unbindDirectory,
  unbindShutDown,
} from './bind-mount.js';
import { type ChangeOwner, giveRoot, namesOwner } from './mount-owner.js';

/** Options of {@link NodeVolumes}. */
export interface NodeVolumesOptions {
  /**
   * Parent of `<volume uid>` for staging, and of `binds/<volume uid>/<claim>/<mount>` for publishing. Without symbolic
   * links, because it is compared with paths of the mount table.
   */
  readonly mountRoot: string;
  readonly host: NodeHost;
  /** Whether this process may mount. Otherwise directories are used in place. */
  readonly mayMount: boolean;
  /** Sets the owner of a directory that this process may not change. */
  readonly changeOwner?: ChangeOwner | undefined;
  readonly clock: Clock;
}

/** A volume mount of an instance. */
export interface PreparedMount {
  /** Directory on this node. */
  readonly source: string;
  /** The directory of the host that is bound at the source, for users. Absent for volumes of other drivers. */
  readonly shown?: string;
  /** Directory inside the source, which is resolved at the mount; absent or empty for the source itself. */
  readonly subPath?: string;
  readonly devicePath: string;
  readonly formatted: boolean;
  readonly fileSystemPending: boolean;
}

/** The workload that mounts a volume. */
export interface MountUser {
  /** `<namespace>/<instance>` */
  readonly claim: string;
  /** Default: container. */
  readonly runtime: 'container' | 'process' | undefined;
}

/** A mount point of a volume on this node. */
export interface VolumeMountPoint {
  readonly target: string;
  readonly uid: string;
  /** Claim of a bind mount; absent for the staging mount. */
  readonly claim?: string;
}

/** `default/web-0` as one file name: neither part of a claim contains a `+`. */
function claimFolder(claim: string): string {
  return claim.replace('/', '+');
}

/**
 * Volumes on this node: attach, stage, publish, and the reverse. Every step reads the present state (mountinfo), so
 * that it resumes at any point after a kill.
 */
export class NodeVolumes {
  readonly #options: NodeVolumesOptions;

  constructor(options: NodeVolumesOptions) {
    this.#options = options;
  }

  staging(volume: Volume): string {
    return join(this.#options.mountRoot, volume.metadata.uid);
  }

  #binds(volume: Volume): string {
    return join(this.#options.mountRoot, 'binds', volume.metadata.uid);
  }

  /** Attaches, stages and publishes a volume. Idempotent. @throws DriverError */
  async prepare(
    volume: Volume,
    mount: VolumeMount,
    { claim, runtime }: MountUser,
    driver: Driver,
    call: CallContext,
  ): Promise<PreparedMount> {
    const handle = volume.handle ?? '';
    if (driver.capabilities().blockDevice && !this.#options.mayMount)
      throw new DriverError(
        'PermissionDenied',
        `volumes of class ${volume.storageClassName} are block devices, each of which ${rootNeeded.format()}; run kedged as root, or use a class of driver local or local-host`,
      );
    const target = this.staging(volume);
    const { devicePath } = await untilOver(
      () => driver.attach({ ...call, handle, target }),
      (ms) => this.#wait(ms, call.signal),
    );
    await this.#unbindShutDown(volume, call.signal);
    const mounted = await driver.mount({
      ...call,
      handle,
      devicePath,
      target,
      // Instances with read-only access get a read-only bind. The instances of this node share the file system itself.
      readOnly: volume.accessMode === 'ReadOnlyMany',
      mayFormat: volume.formatted !== true,
      isCopy: volume.source !== undefined || (volume.importedAs ?? '') !== '',
      ...sizeOf(volume),
    });
    const known = {
      devicePath,
      formatted: mounted.formatted === true,
      fileSystemPending: mounted.fileSystemPending === true,
    };
    const subPath = mount.subPath ?? '';
    const readOnly = mount.readOnly === true || volume.accessMode === 'ReadOnlyMany';
    const isOfHost = !driver.capabilities().ownsData;
    if (isOfHost && namesOwner(mount))
      throw new DriverError(
        'InvalidParameters',
        `mount ${mount.name}: fsUser and fsGroup are not for a directory of the host, which keeps its owner; remove them, and set the owner on the node: chown`,
      );
    const { changeOwner, mayMount } = this.#options;
    await giveRoot(mount, { root: mounted.path, signal: call.signal, changeOwner });
    // A directory is used in place, but an engine would follow a link that another workload swaps in for one of the host.
    const isInPlace = !(isOfHost && runtime !== 'process' && mayMount);
    if (mounted.path !== target && subPath === '' && isInPlace)
      return { ...known, source: mounted.path };
    if (!mayMount) {
      // The runtime resolves the path again at the mount, because it may be swapped meanwhile.
      if (subPath !== '') await provideInside(mounted.path, subPath, readOnly);
      return { ...known, source: mounted.path, subPath };
    }
    const source = join(this.#binds(volume), claimFolder(claim), mount.name);
    await bindDirectory(this.#options.host, {
      root: mounted.path,
      subPath,
      isOfHost,
      target: source,
      readOnly,
      signal: call.signal,
    });
    return { ...known, source, ...(isOfHost && { shown: join(mounted.path, subPath) }) };
  }

  /** Grows the file system of a mounted volume. Returns whether it must still grow. @throws DriverError */
  async grow(
    volume: Volume,
    devicePath: string,
    driver: Driver,
    call: CallContext,
  ): Promise<boolean> {
    const handle = volume.handle ?? '';
    const { fileSystemPending } = await driver.mount({
      ...call,
      handle,
      devicePath,
      target: this.staging(volume),
      // The file system of a read-only mount stays as it is.
      readOnly: volume.accessMode === 'ReadOnlyMany',
      mayFormat: false,
      ...sizeOf(volume),
    });
    return fileSystemPending === true;
  }

  /** Unpublishes the mounts of a volume whose file system was shut down, so that its next mount heals it. */
  async #unbindShutDown(volume: Volume, signal: AbortSignal): Promise<void> {
    const { host, mayMount } = this.#options;
    if (mayMount && (await isShutDown(host, this.staging(volume))))
      await unbindShutDown(host, this.#binds(volume), signal);
  }

  /** Unpublishes the mounts of one claim. @throws DriverError InUse that names the holder */
  async unbind(volume: Volume, claim: string, signal: AbortSignal): Promise<void> {
    if (!this.#options.mayMount) return;
    const folder = join(this.#binds(volume), claimFolder(claim));
    const mounts = await onNode('read the mounts', () => this.#options.host.mounts());
    const bound = mounts.filter(({ target }) => dirname(target) === folder);
    for (const { target } of bound.reverse())
      await unbindDirectory(this.#options.host, target, signal);
    for (const name of await readdir(folder).catch(() => []))
      await rmdir(join(folder, name)).catch(() => undefined);
    await rmdir(folder).catch(() => undefined);
    await rmdir(this.#binds(volume)).catch(() => undefined);
  }

  /** Whether the staging path of the volume is a mount point. @throws DriverError Unavailable */
  async isStaged(volume: Volume): Promise<boolean> {
    const target = this.staging(volume);
    const mounts = await onNode('read the mounts', () => this.#options.host.mounts());
    return mounts.some((entry) => entry.target === target);
  }

  /**
   * Unstages and detaches an unused volume.
   * @param keepsDevice whether another volume has the same storage attached
   * @throws DriverError; the volume stays attached then
   */
  async unstage(
    volume: Volume,
    driver: Driver,
    call: CallContext,
    { keepsDevice = false }: { readonly keepsDevice?: boolean } = {},
  ): Promise<void> {
    const handle = volume.handle ?? '';
    await driver.unmount({ ...call, handle, target: this.staging(volume) });
    if (keepsDevice) return;
    await untilOver(
      () => driver.detach({ ...call, handle }),
      (ms) => this.#wait(ms, call.signal),
    );
  }

  /** Waits `ms`. @throws DriverError Timeout if `signal` is aborted, because the outcome of the operation is unknown then */
  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    await sleep(this.#options.clock, ms, signal);
    if (signal.aborted)
      throw new DriverError('Timeout', 'the provider did not finish the operation in time');
  }

  /** Mounts below the mount root, bind mounts before their sources. */
  async mounted(): Promise<readonly VolumeMountPoint[]> {
    const { mountRoot, host, mayMount } = this.#options;
    if (!mayMount) return [];
    return (await host.mounts())
      .filter(({ target }) => target.startsWith(`${mountRoot}/`))
      .flatMap(({ target }): readonly VolumeMountPoint[] => {
        const [first = '', uid = '', claim = '', , ...below] = target
          .slice(mountRoot.length + 1)
          .split('/');
        if (first !== 'binds') return [{ target, uid: first }];
        // A mount of the host below a bound directory goes with it.
        return below.length > 0 ? [] : [{ target, uid, claim: claim.replace('+', '/') }];
      })
      .reverse()
      .sort((a, b) => Number(b.claim !== undefined) - Number(a.claim !== undefined));
  }

  /** Unmounts a mount point. @throws DriverError; InUse names the holder */
  unmount({ target, claim }: VolumeMountPoint, signal: AbortSignal): Promise<void> {
    const { host } = this.#options;
    return claim === undefined
      ? unmountTarget(target, signal, host)
      : unbindDirectory(host, target, signal);
  }
}

function sizeOf({ sizeBytes }: Volume): { readonly sizeBytes?: bigint } {
  return sizeBytes === undefined ? {} : { sizeBytes: BigInt(sizeBytes) };
}

/**
 * Creates a missing subPath directory unless the mount is read-only, and checks that no component is a symbolic link.
 * @throws DriverError
 */
async function provideInside(root: string, subPath: string, readOnly: boolean): Promise<void> {
  await onNode(`open ${join(root, subPath)}`, async () =>
    (await openInside(root, subPath, { make: !readOnly })).close(),
  );
}
