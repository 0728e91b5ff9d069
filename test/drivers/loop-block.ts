import {
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import {
  attachLoop,
  type BlockProvider,
  createBlockDriver,
  requireCommand,
  detachLoops,
  type Driver,
  DriverError,
  type HandleRequest,
  inTurn,
  nodeHost,
  runCommand,
  type NodeInstances,
  type OrphanListing,
  type RunCommand,
  type VolumeIdentity,
} from '@kedge/driver-sdk';
import { loopOf } from './loop-table.js';

/** Options of a {@link LoopBlock}. */
export interface LoopBlockOptions {
  /** Images of volumes and snapshots. */
  readonly directory: string;
  readonly run?: RunCommand;
  readonly deviceWaitMs?: number;
  /** Ids of the instances by a node's name, like a provider's name tags; absent: nodes need none. */
  readonly instances?: ReadonlyMap<string, readonly string[]>;
}

/** The provider's name of a volume. */
function nameOf({ uid, importedAs }: VolumeIdentity): string {
  return importedAs ?? uid;
}

async function present(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/**
 * A block device provider on this machine, for tests: volumes are sparse files. Attaching creates a loop device
 * and a by-id link to it, like a cloud's udev rule.
 */
export class LoopBlock {
  readonly #directory: string;
  readonly #run: RunCommand;
  readonly #signal = new AbortController().signal;
  readonly driver: Driver;

  constructor(options: LoopBlockOptions) {
    this.#directory = options.directory;
    this.#run = options.run ?? runCommand;
    const { deviceWaitMs = 2_000 } = options;
    const { instances } = options;
    const found: NodeInstances = {
      lookups: [
        { by: 'instance id', find: ({ node }) => this.#instances(instances, (id) => id === node) },
        { by: 'Name tag', find: ({ node }) => Promise.resolve(instances?.get(node) ?? []) },
      ],
      place: () => 'zone "here"',
    };
    const provider = { ...this.#provider(), ...(instances ? { instances: found } : {}) };
    this.driver = {
      ...createBlockDriver(provider, { run: this.#run, deviceWaitMs }),
      orphans: () => this.#orphans(),
      find: async ({ handle }) => {
        const { resources } = await this.#orphans();
        const found = resources.find((one) => one.handle === handle);
        if (found) return found;
        throw new DriverError('NotFound', `${handle} does not exist`);
      },
    };
  }

  async #orphans(): Promise<OrphanListing> {
    const names = await readdir(join(this.#directory, 'volumes')).catch(() => []);
    const resources = names.map(async (name) => ({
      type: 'volume' as const,
      handle: name,
      name,
      sizeBytes: await this.#size(this.image(name)),
      uid: name,
    }));
    return { resources: await Promise.all(resources), warnings: [] };
  }

  #instances(
    all: LoopBlockOptions['instances'],
    fits: (id: string) => boolean,
  ): Promise<readonly string[]> {
    return Promise.resolve([...(all?.values() ?? [])].flat().filter(fits));
  }

  image(uid: string): string {
    return join(this.#directory, 'volumes', uid);
  }

  link(uid: string): string {
    return join(this.#directory, 'by-id', `loop-block-${uid}`);
  }

  /** The instance of a volume, as recorded by the provider. */
  #attachment(uid: string): string {
    return join(this.#directory, 'attachments', uid);
  }

  async #attachedTo(uid: string): Promise<string | undefined> {
    return readFile(this.#attachment(uid), 'utf8').catch(() => undefined);
  }

  /** All existing images, snapshots, links and attachments. */
  async inventory(): Promise<readonly string[]> {
    const folders = ['volumes', 'snapshots', 'by-id', 'attachments'].map((name) =>
      join(this.#directory, name),
    );
    return (await Promise.all(folders.map((f) => readdir(f).catch(() => [])))).flat();
  }

  #loop(uid: string): Promise<string | undefined> {
    return loopOf(this.image(uid));
  }

  async #size(path: string): Promise<bigint> {
    if (!(await present(path))) throw new DriverError('NotFound', `${path} does not exist`);
    return BigInt((await stat(path)).size);
  }

  async #make(path: string, bytes: bigint): Promise<bigint> {
    await mkdir(join(path, '..'), { recursive: true });
    const file = await open(path, 'a+', 0o600);
    if (BigInt((await file.stat()).size) < bytes) await file.truncate(Number(bytes));
    await file.close();
    return this.#size(path);
  }

  async #copy(from: string, to: string): Promise<void> {
    await mkdir(join(to, '..'), { recursive: true });
    if (await present(to)) return;
    const draft = `${to}.draft`;
    const args = ['--sparse=always', '--reflink=auto', from, draft];
    await requireCommand(this.#run, 'cp', args, this.#signal);
    await rename(draft, to);
  }

  #provider(): BlockProvider {
    const alone = <T>(uid: string, work: () => Promise<T>): Promise<T> =>
      inTurn(`loop-block ${uid}`, work);
    const requireOwn = ({ volume, handle }: Pick<HandleRequest, 'volume' | 'handle'>): void => {
      if (handle === nameOf(volume)) return;
      throw new DriverError('InvalidParameters', `${handle} is not of volume ${nameOf(volume)}`);
    };
    const snapshotOf = (uid: string): string => join(this.#directory, 'snapshots', uid);
    return {
      name: 'loop-block',
      parameters: [
        { key: 'token', sensitive: true },
        { key: 'encrypted', values: ['true', 'false'] },
      ],
      create: async ({ volume, sizeBytes }) => ({
        handle: nameOf(volume),
        sizeBytes: await this.#make(this.image(nameOf(volume)), sizeBytes),
      }),
      observe: async ({ volume }) => ({
        handle: nameOf(volume),
        sizeBytes: await this.#size(this.image(nameOf(volume))),
      }),
      delete: async ({ volume, handle }) => {
        if (handle !== undefined) requireOwn({ volume, handle });
        if (await this.#loop(nameOf(volume)).catch(() => undefined))
          throw new DriverError('InUse', 'attached volume cannot be deleted');
        await rm(this.image(nameOf(volume)), { force: true });
      },
      attach: (request) =>
        alone(nameOf(request.volume), async () => {
          const { volume, instance } = request;
          requireOwn(request);
          await this.#size(this.image(nameOf(volume)));
          const holder = await this.#attachedTo(nameOf(volume));
          if (holder !== undefined && holder !== instance)
            throw new DriverError('InUse', `volume ${nameOf(volume)} is attached to ${holder}`);
          await mkdir(join(this.#attachment(nameOf(volume)), '..'), { recursive: true });
          await writeFile(this.#attachment(nameOf(volume)), instance);
          const host = nodeHost(this.#run);
          const device = await attachLoop(host, this.image(nameOf(volume)), this.#signal);
          const link = this.link(nameOf(volume));
          await mkdir(join(link, '..'), { recursive: true });
          await symlink(device, `${link}.new`);
          await rename(`${link}.new`, link);
          return { devicePath: link };
        }),
      detach: (request) =>
        alone(nameOf(request.volume), async () => {
          const { volume, instance } = request;
          requireOwn(request);
          const holder = await this.#attachedTo(nameOf(volume));
          if (holder !== undefined && instance !== undefined && holder !== instance) return;
          await rm(this.link(nameOf(volume)), { force: true });
          await detachLoops(nodeHost(this.#run), this.image(nameOf(volume)), this.#signal);
          await rm(this.#attachment(nameOf(volume)), { force: true });
        }),
      devicePath: ({ volume }) => this.#loop(nameOf(volume)),
      identify: async (device, { volume }) => {
        const expected = await readlink(this.link(nameOf(volume)));
        return device === expected && (await this.#loop(nameOf(volume))) === device;
      },
      expansion: {
        online: true,
        grow: async (request) => {
          const { volume, sizeBytes } = request;
          requireOwn(request);
          await this.#size(this.image(nameOf(volume)));
          const size = await this.#make(this.image(nameOf(volume)), sizeBytes);
          const device = await this.#loop(nameOf(volume));
          if (device) await requireCommand(this.#run, 'losetup', ['-c', device], this.#signal);
          return size;
        },
      },
      snapshots: {
        create: (request) =>
          alone(request.snapshot.uid, async () => {
            const { volume, snapshot } = request;
            requireOwn(request);
            await this.#size(this.image(nameOf(volume)));
            await this.#copy(this.image(nameOf(volume)), snapshotOf(snapshot.uid));
            const restoreSizeBytes = await this.#size(snapshotOf(snapshot.uid));
            return { handle: snapshot.uid, restoreSizeBytes, ready: true };
          }),
        observe: async ({ snapshot }) => ({
          handle: snapshot.uid,
          restoreSizeBytes: await this.#size(snapshotOf(snapshot.uid)),
          ready: true,
        }),
        delete: ({ snapshot }) => rm(snapshotOf(snapshot.uid), { force: true }),
        restore: ({ volume, snapshot, sizeBytes }) =>
          alone(nameOf(volume), async () => {
            await this.#size(snapshotOf(snapshot.uid));
            await this.#copy(snapshotOf(snapshot.uid), this.image(nameOf(volume)));
            const image = this.image(nameOf(volume));
            return { handle: nameOf(volume), sizeBytes: await this.#make(image, sizeBytes) };
          }),
      },
    };
  }
}
