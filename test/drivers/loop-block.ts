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
} from '@kedge/driver-sdk';

/** The folders of the stand-in provider. */
export interface LoopBlockOptions {
  /** Images of volumes and snapshots. */
  readonly directory: string;
  readonly run?: RunCommand;
  readonly deviceWaitMs?: number;
  /** Ids of the instances by a node's name, like a provider's name tags; absent: nodes need none. */
  readonly instances?: ReadonlyMap<string, readonly string[]>;
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

  async #loop(uid: string): Promise<string | undefined> {
    const list = ['--associated', this.image(uid), '--noheadings', '--output', 'NAME'];
    const text = await requireCommand(this.#run, 'losetup', list, this.#signal);
    return text.split('\n')[0]?.trim() || undefined;
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
      if (handle === volume.uid) return;
      throw new DriverError('InvalidParameters', `${handle} is not of volume ${volume.uid}`);
    };
    const snapshotOf = (uid: string): string => join(this.#directory, 'snapshots', uid);
    return {
      name: 'loop-block',
      parameters: [
        { key: 'token', sensitive: true },
        { key: 'encrypted', values: ['true', 'false'] },
      ],
      create: async ({ volume, sizeBytes }) => ({
        handle: volume.uid,
        sizeBytes: await this.#make(this.image(volume.uid), sizeBytes),
      }),
      observe: async ({ volume }) => ({
        handle: volume.uid,
        sizeBytes: await this.#size(this.image(volume.uid)),
      }),
      delete: async ({ volume, handle }) => {
        if (handle !== undefined) requireOwn({ volume, handle });
        if (await this.#loop(volume.uid).catch(() => undefined))
          throw new DriverError('InUse', 'attached volume cannot be deleted');
        await rm(this.image(volume.uid), { force: true });
      },
      attach: (request) =>
        alone(request.volume.uid, async () => {
          const { volume, instance } = request;
          requireOwn(request);
          await this.#size(this.image(volume.uid));
          const holder = await this.#attachedTo(volume.uid);
          if (holder !== undefined && holder !== instance)
            throw new DriverError('InUse', `volume ${volume.uid} is attached to ${holder}`);
          await mkdir(join(this.#attachment(volume.uid), '..'), { recursive: true });
          await writeFile(this.#attachment(volume.uid), instance);
          const host = nodeHost(this.#run);
          const device = await attachLoop(host, this.image(volume.uid), this.#signal);
          const link = this.link(volume.uid);
          await mkdir(join(link, '..'), { recursive: true });
          await symlink(device, `${link}.new`);
          await rename(`${link}.new`, link);
          return { devicePath: link };
        }),
      detach: (request) =>
        alone(request.volume.uid, async () => {
          const { volume, instance } = request;
          requireOwn(request);
          const holder = await this.#attachedTo(volume.uid);
          if (holder !== undefined && instance !== undefined && holder !== instance) return;
          await rm(this.link(volume.uid), { force: true });
          await detachLoops(nodeHost(this.#run), this.image(volume.uid), this.#signal);
          await rm(this.#attachment(volume.uid), { force: true });
        }),
      devicePath: ({ volume }) => this.#loop(volume.uid),
      identify: async (device, { volume }) => {
        const expected = await readlink(this.link(volume.uid));
        return device === expected && (await this.#loop(volume.uid)) === device;
      },
      expansion: {
        online: true,
        grow: async (request) => {
          const { volume, sizeBytes } = request;
          requireOwn(request);
          await this.#size(this.image(volume.uid));
          const size = await this.#make(this.image(volume.uid), sizeBytes);
          const device = await this.#loop(volume.uid);
          if (device) await requireCommand(this.#run, 'losetup', ['-c', device], this.#signal);
          return size;
        },
      },
      snapshots: {
        create: (request) =>
          alone(request.snapshot.uid, async () => {
            const { volume, snapshot } = request;
            requireOwn(request);
            await this.#size(this.image(volume.uid));
            await this.#copy(this.image(volume.uid), snapshotOf(snapshot.uid));
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
          alone(volume.uid, async () => {
            await this.#size(snapshotOf(snapshot.uid));
            await this.#copy(snapshotOf(snapshot.uid), this.image(volume.uid));
            const image = this.image(volume.uid);
            return { handle: volume.uid, sizeBytes: await this.#make(image, sizeBytes) };
          }),
      },
    };
  }
}
