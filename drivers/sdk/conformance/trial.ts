import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type {
  AccessMode,
  CallContext,
  Capabilities,
  Driver,
  HandleRequest,
  MountRequest,
  Parameters,
  ProvisionRequest,
  ProvisionResult,
  RestoreRequest,
  SnapshotIdentity,
  SnapshotRequest,
  SnapshotResult,
  VolumeIdentity,
} from '../contract/driver.js';
import { DriverError } from '../errors/errors.js';
import { mountAt } from '../node/mount-table.js';
import { memoryOperations, type Operations } from '../contract/operations.js';
import { type SynchronousDriver, synchronousDriver } from '../provider/synchronous-driver.js';
import { ConformanceError, assert, LeftOut } from './failure.js';
import type { ConformanceOptions } from './options.js';
import type { Made, MadeSnapshot, MountChoice, Mounted } from './created-resources.js';
import { retriedInUse } from './retried-in-use.js';
import { makeFolder, removeFolder } from './trial-folders.js';
import { watchedDriver } from './watched-driver.js';

const pollsMax = 600;

/** One run of one check: makes calls with new identities, and removes all resources at the end. */
export class Trial {
  readonly options: ConformanceOptions;
  readonly capabilities: Capabilities;
  readonly #volumes: { readonly volume: VolumeIdentity; handle: string | undefined }[] = [];
  readonly #snapshots: SnapshotIdentity[] = [];
  readonly #mounted = new Map<string, Mounted>();
  readonly #folders: string[] = [];
  readonly #operations = new Map<string, Operations>();

  constructor(options: ConformanceOptions, capabilities: Capabilities) {
    this.options = options;
    this.capabilities = capabilities;
  }

  /** A new instance of the driver with watched calls. */
  async driver(): Promise<SynchronousDriver> {
    const timeoutMs = this.options.callTimeoutMs ?? 60_000;
    return synchronousDriver(watchedDriver(await this.options.driver(), timeoutMs), pause);
  }

  async #retried<T>(call: (driver: SynchronousDriver) => Promise<T>): Promise<T> {
    const driver = await this.driver();
    return retriedInUse(() => call(driver));
  }

  /** Ids of the operations of a volume or snapshot: every instance of the driver finds them. */
  operationsOf(uid: string): Operations {
    const operations = this.#operations.get(uid) ?? memoryOperations();
    this.#operations.set(uid, operations);
    return operations;
  }

  /** A new one for each call, as in kedged: each call in progress has listeners on its signal. */
  get signal(): AbortSignal {
    return new AbortController().signal;
  }

  get sizeBytes(): bigint {
    return this.options.sizeBytes ?? 16n * 1024n * 1024n;
  }

  get node(): string {
    return this.options.node ?? 'conformance';
  }

  get parameters(): Parameters {
    return this.options.parameters ?? {};
  }

  get accessMode(): AccessMode {
    return this.capabilities.accessModes[0] ?? 'ReadWriteOnce';
  }

  /** Ends the check: it can't be made with this driver on this host. */
  leaveOut(reason: string): never {
    throw new LeftOut(reason);
  }

  context(volume: VolumeIdentity, node = this.node): CallContext {
    const { parameters, signal } = this;
    return { volume, parameters, node, signal, operations: this.operationsOf(volume.uid) };
  }

  call({ volume, handle }: Made, node = this.node): HandleRequest {
    return { ...this.context(volume, node), handle };
  }

  /** A new identity, whose resources are deleted at the end. */
  identity(uid: string = randomUUID(), name = `conformance-${uid.slice(0, 8)}`): VolumeIdentity {
    const volume = { uid, name, namespace: 'default' };
    this.#volumes.push({ volume, handle: undefined });
    return volume;
  }

  snapshotIdentity(
    uid: string = randomUUID(),
    name = `conformance-${uid.slice(0, 8)}`,
  ): SnapshotIdentity {
    const snapshot = { uid, name, namespace: 'default' };
    this.#snapshots.push(snapshot);
    return snapshot;
  }

  request(volume: VolumeIdentity): ProvisionRequest {
    const { accessMode, sizeBytes } = this;
    return { ...this.context(volume), sizeBytes, accessMode, topology: {} };
  }

  async provision(volume = this.identity()): Promise<Made & ProvisionResult> {
    return { volume, ...(await (await this.driver()).provision(this.request(volume))) };
  }

  async delete(made: Made): Promise<void> {
    await (await this.driver()).delete({ ...this.context(made.volume), handle: made.handle });
  }

  snapshotRequest(source: Made, snapshot: SnapshotIdentity): SnapshotRequest {
    return { ...this.call(source), operations: this.operationsOf(snapshot.uid), snapshot };
  }

  /** Creates a snapshot and waits until it is ready. @throws ConformanceError if it does not become ready */
  async snapshot(source: Made, snapshot = this.snapshotIdentity()): Promise<MadeSnapshot> {
    const driver = await this.driver();
    const request = this.snapshotRequest(source, snapshot);
    let state: SnapshotResult = await driver.createSnapshot(request);
    const { handle } = state;
    for (let polls = 0; !state.ready; polls += 1) {
      assert(polls < pollsMax, `a snapshot was not ready after ${polls} observations`);
      state = await driver.observeSnapshot({ ...request, handle });
    }
    return { snapshot, handle };
  }

  restoreRequest(
    { snapshot, handle }: MadeSnapshot,
    volume: VolumeIdentity,
    sizeBytes = this.sizeBytes,
  ): RestoreRequest {
    return { ...this.request(volume), sizeBytes, snapshot: { ...snapshot, handle } };
  }

  async restore(
    from: MadeSnapshot,
    volume = this.identity(),
    sizeBytes = this.sizeBytes,
  ): Promise<Made & ProvisionResult> {
    const request = this.restoreRequest(from, volume, sizeBytes);
    return { volume, ...(await (await this.driver()).restore(request)) };
  }

  /** Creates a temporary folder whose path contains no links. Only empty directories are removed below it. */
  async folder(): Promise<string> {
    const folder = await makeFolder();
    this.#folders.push(folder);
    return folder;
  }

  /** The attached device. Leaves the check out if the driver has no devices, or the host does not permit them. */
  async device(made: Made): Promise<string> {
    if (this.options.mounts === false) this.leaveOut('the option "mounts" is false');
    const { devicePath } = await this.#retried((driver) => driver.attach(this.call(made)));
    if (devicePath === '') this.leaveOut('the driver does not attach devices');
    if (process.getuid?.() !== 0) this.leaveOut('block devices need root');
    return devicePath;
  }

  async mountRequest(made: Made, choice: MountChoice = {}): Promise<MountRequest> {
    const { readOnly = false, mayFormat = true } = choice;
    const { devicePath } = await this.#retried((driver) => driver.attach(this.call(made)));
    if (devicePath !== '' && process.getuid?.() !== 0)
      this.leaveOut('mounting block devices needs root');
    const target = join(await this.folder(), 'target');
    return { ...this.call(made), devicePath, target, readOnly, mayFormat };
  }

  /** Attaches and mounts at a new target. */
  async mount(made: Made, choice: MountChoice = {}): Promise<Mounted> {
    return this.mountAs(await this.mountRequest(made, choice));
  }

  async mountAs(request: MountRequest): Promise<Mounted> {
    // Registered before it exists, so that remains of a failed call are deleted too.
    this.#mounted.set(request.target, { request, path: request.target, own: false });
    const { path } = await this.#retried((driver) => driver.mount(request));
    const own = path === request.target;
    if (own)
      assert(
        (await mountAt(path)) !== undefined,
        `mount returned its target, but the target is not mounted`,
      );
    const mounted = { request, path, own };
    this.#mounted.set(request.target, mounted);
    return mounted;
  }

  /**
   * Unmounts and verifies the result: success of the call alone proves nothing.
   * @throws ConformanceError if the target is still mounted, or not empty
   */
  async unmount({ request }: Mounted): Promise<void> {
    await this.#retried((driver) => driver.unmount(request));
    assert(
      (await mountAt(request.target)) === undefined,
      `unmount returned success, but ${request.target} is still mounted`,
    );
    const left = await readdir(request.target).catch(() => []);
    assert(left.length === 0, `unmount left ${left.join(', ')} in the target`);
    this.#mounted.delete(request.target);
  }

  async release(mounted: Mounted): Promise<void> {
    await this.unmount(mounted);
    await this.#retried((driver) => driver.detach(mounted.request));
  }

  /**
   * Mounts, works with the content, unmounts and detaches. The volume stays mounted until {@link end} if `work` fails.
   */
  async mounted<T>(
    made: Made,
    work: (path: string) => Promise<T>,
    choice: MountChoice = {},
  ): Promise<T> {
    const mounted = await this.mount(made, choice);
    const result = await work(mounted.path);
    await this.release(mounted);
    return result;
  }

  /** Skips the check for a driver that does not mount at the target, but returns a path that the node binds. */
  requireOwnMount(mounted: Mounted): void {
    if (!mounted.own) this.leaveOut('the driver does not mount at the target');
  }

  /** Removes all remaining resources with the given driver. Returns the errors. */
  async end(given: Driver): Promise<readonly Error[]> {
    const driver = synchronousDriver(given, pause);
    const problems: Error[] = [];
    const step = async (work: () => Promise<unknown>): Promise<void> => {
      await work().catch((error: unknown) => {
        problems.push(error instanceof Error ? error : new ConformanceError(String(error)));
      });
    };
    for (const { request } of [...this.#mounted.values()].reverse())
      await step(() => driver.unmount(request));
    const nodes = [this.node, this.options.otherNode].filter((node) => node !== undefined);
    for (const { volume } of this.#volumes) {
      const request = { ...this.context(volume), handle: undefined };
      await step(async () => {
        // Only an existing volume can be attached; its handle may be unknown.
        const found = await driver.observe(request).catch((error: unknown) => {
          if (error instanceof DriverError) return undefined;
          throw error;
        });
        if (found) {
          const call = { ...request, handle: found.handle };
          for (const node of nodes) await driver.detach({ ...call, node });
        }
        await driver.delete(request);
      });
    }
    const { parameters, node, signal } = this;
    for (const snapshot of this.#snapshots)
      await step(() =>
        driver.deleteSnapshot({
          snapshot,
          handle: undefined,
          parameters,
          node,
          signal,
          operations: this.operationsOf(snapshot.uid),
        }),
      );
    for (const folder of this.#folders) await step(() => removeFolder(folder));
    return problems;
  }
}
