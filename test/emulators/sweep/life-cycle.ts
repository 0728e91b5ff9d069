import { inspect } from 'node:util';
import {
  type CallContext,
  type Driver,
  DriverError,
  errorClasses,
  isPending,
  memoryOperations,
  type Operations,
  type Pending,
} from '@kedge/driver-sdk';
import { pauseOn } from '@kedge/driver-sdk/provider';
import { type EmulatedCloud, here } from './emulated-cloud.js';

const gib = 1024n ** 3n;
const retryMs = 5_000;
/** Duration of a call after which the test ends the provider's stuck actions, milliseconds. */
const stuckMs = 10 * 60_000;
/** Maximum duration of a call with its repetitions, milliseconds. */
const callMsMax = 60 * 60_000;

/** The stored fields of a volume or snapshot. */
class Kept {
  readonly uid: string;
  readonly name: string;
  readonly operations: Operations = memoryOperations();
  handle = '';

  constructor(uid: string) {
    this.uid = uid;
    this.name = uid;
  }
}

/** The calls for a volume from its creation to its deletion, each repeated in the same way as by kedged. */
export class LifeCycle {
  readonly #cloud: EmulatedCloud;
  readonly #driver: Driver;
  readonly #id: number;
  /** Errors and journals of the driver as texts. */
  readonly errors: string[] = [];
  /** Number of stuck actions that the test ended. */
  ended = 0;

  /** @param id distinguishes the uids from those of other life cycles, because calls about one uid run serially */
  constructor(cloud: EmulatedCloud, driver: Driver, id: number) {
    this.#id = id;
    this.#cloud = cloud;
    this.#driver = driver;
  }

  #context({ uid, name, operations }: Kept): CallContext {
    const { signal } = new AbortController();
    const volume = { uid, name, namespace: 'shop' };
    return { volume, parameters: this.#cloud.parameters, node: here, signal, operations };
  }

  /**
   * Repeats a call until it is no longer pending, and ends the provider's actions if it takes too long.
   * @throws the error of a call that kedged does not repeat, and Error for a call that does not end
   */
  async #settled<R>(what: string, call: () => Promise<R | Pending>): Promise<R> {
    const { clock, emulator } = this.#cloud;
    const { signal } = new AbortController();
    const began = clock.now();
    let helped = false;
    for (;;) {
      let waitMs = retryMs;
      try {
        const answer = await call();
        if (!isPending(answer)) return answer;
        waitMs = answer.pollAfterMs;
      } catch (thrown) {
        const error = DriverError.from(thrown);
        this.errors.push(inspect(thrown, { depth: 8, showHidden: true }));
        if (errorClasses[error.kind] === 'final') throw thrown;
      }
      const tookMs = clock.now() - began;
      if (tookMs > callMsMax) throw new Error(`${what} has not ended in an hour`);
      if (tookMs > stuckMs && !helped) {
        helped = true;
        this.ended += emulator.actions.filter(({ status }) => status === 'running').length;
        await emulator.finishActions();
      }
      await pauseOn(clock, waitMs, signal);
    }
  }

  /** Counts the volumes and snapshots at the provider. @throws Error if the numbers are not these */
  async #requireCounts(volumes: number, snapshots: number): Promise<void> {
    const all = await this.#cloud.emulator.inventory();
    const count = (kind: string): number => all.filter((one) => one.startsWith(`${kind} `)).length;
    const found = `${count('volume')} volumes and ${count('snapshot')} snapshots`;
    const wanted = `${volumes} volumes and ${snapshots} snapshots`;
    if (found !== wanted) throw new Error(`${found} instead of ${wanted}`);
  }

  async #provision(kept: Kept, size: bigint): Promise<void> {
    const asked = { sizeBytes: size * gib, accessMode: 'ReadWriteOnce', topology: {} } as const;
    const made = await this.#settled('provision', () =>
      this.#driver.provision({ ...this.#context(kept), ...asked }),
    );
    kept.handle = made.handle;
  }

  /** Attaches the volume, runs work with its link, and detaches it. */
  async #attached(kept: Kept, work: (link: string) => Promise<void>): Promise<void> {
    const { handle } = kept;
    const request = { ...this.#context(kept), handle };
    const { devicePath } = await this.#settled('attach', () => this.#driver.attach(request));
    await work(devicePath.slice(devicePath.lastIndexOf('/') + 1));
    await this.#settled('detach', () => this.#driver.detach(request));
    const left = (await this.#cloud.emulator.inventory()).filter((one) => /^attached/.test(one));
    if (left.length > 0) throw new Error(`after detach: ${left.join(', ')}`);
  }

  async #expand(kept: Kept, size: bigint): Promise<void> {
    const { handle } = kept;
    const request = { ...this.#context(kept), handle, sizeBytes: size * gib };
    await this.#settled('expand', () => this.#driver.expand(request));
    // There is one disk. Not every provider has the id of the disk as the handle.
    const { sizes } = this.#cloud.disks;
    if (BigInt(sizes[0] ?? 0) !== request.sizeBytes || sizes.length > 1)
      throw new Error(`disks of ${sizes.join(', ')} bytes`);
  }

  /** Deletes the volume. @param handle absent if it was lost in a crash */
  async #delete(kept: Kept, handle?: string): Promise<void> {
    await this.#settled('delete', () => this.#driver.delete({ ...this.#context(kept), handle }));
  }

  async #read(link: string): Promise<void> {
    const text = await this.#cloud.disks.read(here, link);
    if (text !== 'kept') throw new Error(`the disk has ${text}`);
  }

  /** Runs all calls for one volume; and for a snapshot and a restored volume if the driver supports snapshots. */
  async run(): Promise<void> {
    const { disks } = this.#cloud;
    const { snapshots, onlineExpand } = this.#driver.capabilities();
    const volume = new Kept(`volume-1-${this.#id}`);
    await this.#provision(volume, 10n);
    await this.#requireCounts(1, 0);
    await this.#attached(volume, async (link) => {
      await disks.write(here, link, 'kept');
      if (onlineExpand) await this.#expand(volume, 11n);
    });
    await this.#expand(volume, 12n);
    if (snapshots) await this.#snapshotAndRestore(volume);
    await this.#attached(volume, (link) => this.#read(link));
    await this.#delete(volume);
    this.errors.push(inspect(this.#driver.recentCalls?.(volume.uid), { depth: 8 }));
  }

  async #snapshotAndRestore(volume: Kept): Promise<void> {
    const taken = new Kept(`snapshot-1-${this.#id}`);
    const { operations } = taken;
    const snapshot = { uid: taken.uid, name: taken.name, namespace: 'shop' };
    const request = { ...this.#context(volume), handle: volume.handle, snapshot, operations };
    const made = await this.#settled('createSnapshot', () => this.#driver.createSnapshot(request));
    await this.#requireCounts(1, 1);
    const restored = new Kept(`volume-2-${this.#id}`);
    const asked = { sizeBytes: 13n * gib, accessMode: 'ReadWriteOnce', topology: {} } as const;
    const source = { ...snapshot, handle: made.handle };
    const result = await this.#settled('restore', () =>
      this.#driver.restore({ ...this.#context(restored), ...asked, snapshot: source }),
    );
    restored.handle = result.handle;
    await this.#requireCounts(2, 1);
    await this.#attached(restored, (link) => this.#read(link));
    await this.#delete(restored, restored.handle);
    await this.#settled('deleteSnapshot', () =>
      this.#driver.deleteSnapshot({ ...request, handle: made.handle }),
    );
    await this.#requireCounts(1, 0);
  }
}
