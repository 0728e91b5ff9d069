import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, sleep } from 'kedge';
import {
  type CallContext,
  type Driver,
  DriverError,
  type NodeHost,
  unmountTarget,
  untilOver,
} from '@kedge/driver-sdk';
import type { VolumeMount } from '../../service/kind.js';
import type { Volume } from '../../volume/kind.js';
import { bindDirectory, openInside } from './bind-mount.js';

/** What {@link NodeVolumes} works with. */
export interface NodeVolumesOptions {
  /** Below it: `<volume uid>` for staging, `binds/<volume uid>/<claim>/<mount>` for what instances see. */
  readonly mountRoot: string;
  readonly host: NodeHost;
  /** Whether this process may mount. Without it directories are used where they are. */
  readonly mayMount: boolean;
  readonly clock: Clock;
}

/** A volume as an instance sees it. */
export interface PreparedMount {
  /** Directory on this node. */
  readonly source: string;
  /** Directory inside it that is still to be found when it is mounted; absent: the source itself. */
  readonly subPath?: string;
  readonly devicePath: string;
  readonly formatted: boolean;
  readonly fileSystemPending: boolean;
}

/** Where something of a volume is mounted on this node. */
export interface VolumeMountPoint {
  readonly target: string;
  /** Of the volume. */
  readonly uid: string;
  /** Whose bind it is; absent for the staging. */
  readonly claim?: string;
}

/** `default/web-0` as one file name; neither part of a claim holds a `+`. */
function claimFolder(claim: string): string {
  return claim.replace('/', '+');
}

/**
 * Volumes on this node: attach, wait, mount, bind, and the exact reverse. Every step looks at what is
 * there (mountinfo), so that after kill -9 it goes on from any point.
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

  /** Attaches, mounts and binds. Idempotent. @throws DriverError */
  async bring(
    volume: Volume,
    mount: VolumeMount,
    claim: string,
    driver: Driver,
    call: CallContext,
  ): Promise<PreparedMount> {
    const handle = volume.handle ?? '';
    const { devicePath } = await untilOver(
      () => driver.attach({ ...call, handle }),
      (ms) => this.#wait(ms, call.signal),
    );
    const target = this.staging(volume);
    const mounted = await driver.mount({
      ...call,
      handle,
      devicePath,
      target,
      // Instances that only read get a read-only bind; the file system itself is shared by all here.
      readOnly: volume.accessMode === 'ReadOnlyMany',
      mayFormat: volume.formatted !== true,
    });
    const known = {
      devicePath,
      formatted: mounted.formatted === true,
      fileSystemPending: mounted.fileSystemPending === true,
    };
    const subPath = mount.subPath ?? '';
    // A directory of the host is used where it is; what was mounted here, and parts of it, are bound.
    if (mounted.path !== target && subPath === '') return { ...known, source: mounted.path };
    if (!this.#options.mayMount) {
      // The runtime mounts it, and goes this way again: what was looked at here may have been swapped since.
      if (subPath !== '') await provideInside(mounted.path, subPath);
      return { ...known, source: mounted.path, subPath };
    }
    const source = join(this.#binds(volume), claimFolder(claim), mount.name);
    await bindDirectory(this.#options.host, {
      root: mounted.path,
      subPath,
      target: source,
      readOnly: mount.readOnly === true || volume.accessMode === 'ReadOnlyMany',
      signal: call.signal,
    });
    return { ...known, source };
  }

  /** Grows the file system of a volume that is mounted; true when it still has to. */
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
      readOnly: false,
      mayFormat: false,
    });
    return fileSystemPending === true;
  }

  /** Takes away what one claim sees. @throws DriverError InUse naming who holds it. */
  async unbind(volume: Volume, claim: string, signal: AbortSignal): Promise<void> {
    if (!this.#options.mayMount) return;
    const folder = join(this.#binds(volume), claimFolder(claim));
    const below = (await this.#options.host.mounts()).filter((e) =>
      e.target.startsWith(`${folder}/`),
    );
    for (const entry of below.reverse())
      await unmountTarget(entry.target, signal, this.#options.host);
    for (const name of await readdir(folder).catch(() => []))
      await rmdir(join(folder, name)).catch(() => undefined);
    await rmdir(folder).catch(() => undefined);
    await rmdir(this.#binds(volume)).catch(() => undefined);
  }

  /** Whether something is mounted where the volume would be. */
  async isStaged(volume: Volume): Promise<boolean> {
    const target = this.staging(volume);
    return (await this.#options.host.mounts()).some((entry) => entry.target === target);
  }

  /**
   * Unmounts and detaches: nobody here uses it any more. `keepsDevice` where another volume has the same storage
   * attached. @throws DriverError; then it stays attached.
   */
  async takeAway(
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

  /** @throws DriverError Timeout at the deadline: what the provider makes of its operation is unknown. */
  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    await sleep(this.#options.clock, ms, signal);
    if (signal.aborted)
      throw new DriverError('Timeout', 'the provider has not finished the operation in time');
  }

  /** What is mounted below the mount root, binds before what they are bound from. */
  async mounted(): Promise<readonly VolumeMountPoint[]> {
    const { mountRoot, host, mayMount } = this.#options;
    if (!mayMount) return [];
    return (await host.mounts())
      .filter(({ target }) => target.startsWith(`${mountRoot}/`))
      .map(({ target }) => {
        const [first = '', uid = '', claim = ''] = target.slice(mountRoot.length + 1).split('/');
        return first === 'binds'
          ? { target, uid, claim: claim.replace('+', '/') }
          : { target, uid: first };
      })
      .reverse()
      .sort((a, b) => Number(b.claim !== undefined) - Number(a.claim !== undefined));
  }

  /** @throws DriverError InUse naming who holds it. */
  unmount({ target }: VolumeMountPoint, signal: AbortSignal): Promise<void> {
    return unmountTarget(target, signal, this.#options.host);
  }
}

/** The directory is there, and no part of its way is a link. @throws DriverError */
async function provideInside(root: string, subPath: string): Promise<void> {
  try {
    await (await openInside(root, subPath)).close();
  } catch (error) {
    if (error instanceof DriverError) throw error;
    throw new DriverError('Unavailable', String(error), { cause: error });
  }
}
