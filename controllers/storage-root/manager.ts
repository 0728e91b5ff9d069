import { type FileHandle, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  type DirectoryLock,
  failedPrecondition,
  type HealthCheck,
  type Logger,
  messageOf,
  type ObjectStore,
  StatusError,
} from 'kedge';
import { DriverError, type Holders, makeDirectory, type StorageRoot } from '@kedge/driver-sdk';
import { describeRoot, makeRootFolder, markRoot, openRoot } from './directory.js';
import { lockHolder, Refused, refusalOf, type RootState } from './refusal.js';
import { SharedOpening } from './shared-opening.js';
import { requireUnused } from './users.js';
import { isCopy, placedIn } from './placed-data.js';
import { planRoot, type RootPlan, rootFolder } from './plan.js';
import { isRecorded, recordRoot } from './record.js';
import { storageRootHolder, storageRootLabel } from '../messages/storage-root.js';

/** Dependencies of {@link StorageRootManager}. */
export interface StorageRootOptions {
  readonly store: ObjectStore;
  readonly node: string;
  /** The driver whose data is in the root. */
  readonly driver: string;
  /** [storage].localVolumeRoot. */
  readonly path: string;
  /** Locks a directory for this process. */
  readonly lock: (directory: string) => Promise<DirectoryLock>;
  readonly logger: Logger;
  /** Finds users of a root that is to be adopted. Absent: none is looked for. */
  readonly holders?: Holders;
}

/** A root whose mark and lock were checked. It is kept mounted until it is closed. */
interface VerifiedRoot {
  /** Its path without links. */
  readonly directory: string;
  close(): Promise<void>;
}

/** A root of this process: its lock and the locked directory. */
interface Held {
  readonly identity: string;
  readonly lock: DirectoryLock;
}

/**
 * A storage root with an identity.
 *
 * Guarantees:
 * - Only a directory whose mark has this store's cluster id is used, while this process holds its lock. Every use
 *   checks both again.
 * - A missing root is not recreated: a directory is created and marked once, if this node never had a root there and
 *   the store places nothing in it. An existing directory without a mark is marked once, if this node never had a root
 *   there and it contains the volumes that the store places there; if there are none, it may contain only entries that
 *   kedged creates.
 * - A refused root is used again as soon as it is valid.
 */
export class StorageRootManager implements StorageRoot {
  readonly path: string;
  /** The driver whose data is in the root. */
  readonly driver: string;
  readonly #options: StorageRootOptions;
  /** Uses that begin at once share a check, which costs several calls of the file system. */
  readonly #openings = new SharedOpening(() => this.#open());
  #held: Held | undefined;
  #state: RootState | undefined;
  /** Settles after all establishments so far; never rejects. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: StorageRootOptions) {
    this.#options = options;
    this.path = options.path;
    this.driver = options.driver;
  }

  async use<T>(work: (directory: string) => Promise<T>): Promise<T> {
    const lease = await this.#openings.lease();
    try {
      return await work(lease.value.directory);
    } finally {
      await lease.close();
    }
  }

  /**
   * Establishes the root if it is not yet in use (creates, marks and locks it as needed), and returns its state. A
   * refusal does not throw.
   */
  async probe(): Promise<RootState> {
    try {
      await (await this.#openings.lease()).close();
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
    }
    return this.#state ?? { type: 'ready' };
  }

  /** The result of the last check or use. */
  health(): HealthCheck {
    const state = this.#state;
    const healthy = state?.type !== 'refused';
    const message = healthy ? this.path : `${state.reason}: ${state.message}`;
    return { name: 'storage root', healthy, message };
  }

  /** Releases the lock. */
  async close(): Promise<void> {
    await this.#turn;
    await this.#release();
  }

  /**
   * Marks a root of another cluster, which is lost, with the id of this one. The lock of the directory proves that no
   * running daemon uses it. Workloads of a killed daemon may still use it, and two writers would destroy their data: a root with users is refused
   * where `holders` is given.
   * @returns the earlier mark; empty without one @throws StatusError FailedPrecondition
   */
  async adopt(path: string): Promise<string> {
    if (resolve(path) !== this.path)
      throw failedPrecondition(
        'NotTheStorageRoot',
        `${path} is not the storage root of node ${this.#options.node}, which is ${this.path}; set [storage].localVolumeRoot, and restart kedged`,
      );
    const next = this.#turn.then(() => this.#adopt());
    this.#turn = next.catch(() => undefined);
    return next;
  }

  async #adopt(): Promise<string> {
    const { store, node, logger } = this.#options;
    const { clusterId } = store;
    const opened = await openRoot(this.path);
    if (opened.type === 'absent')
      throw failedPrecondition('StorageRootMissing', `${this.path} does not exist; mount its disk`);
    try {
      const { clusterId: earlier = '' } = opened;
      if (earlier === clusterId) return earlier;
      const found = await describeRoot({ ...opened, clusterId: undefined });
      const names = new Set(found.type === 'unmarked' ? found.entries : []);
      const placed = await placedIn(store, this.#options);
      const absent = placed.find(({ uid }) => !names.has(uid) && !names.has(`${uid}.img`));
      if (absent)
        throw failedPrecondition(
          'StorageRootLacksVolumes',
          `${this.path} does not contain ${absent.label} of this cluster; mount the disk that does, or delete its object first`,
        );
      await this.#lock(opened.handle, opened.identity);
      await requireUnused(this.path, this.#options.holders);
      await markRoot(opened.handle, clusterId);
      await recordRoot(store, node, this.path);
      logger.warn('storage root adopted', { path: this.path, earlier });
      this.#become({ type: 'ready' });
      return earlier;
    } catch (error) {
      if (error instanceof Refused)
        throw error.cause instanceof StatusError
          ? error.cause
          : failedPrecondition('StorageRootLocked', error.refusal.message);
      throw error;
    } finally {
      await opened.handle.close();
    }
  }

  /** Opens the verified root. */
  async #open(): Promise<VerifiedRoot> {
    const handle = await this.#enter();
    try {
      return { directory: await realpath(this.path), close: () => handle.close() };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Verifies and opens the root; creates, marks, locks it if needed. @throws DriverError Unavailable, StatusError */
  async #enter(): Promise<FileHandle> {
    const known = await this.#openKnown();
    if (known) return known;
    const next = this.#turn.then(() => this.#establish());
    this.#turn = next.catch(() => undefined);
    return next;
  }

  /**
   * Opens the root if it is unchanged since it was established; otherwise undefined. Every use starts with this check.
   */
  async #openKnown(): Promise<FileHandle | undefined> {
    // Another use may find the root missing meanwhile and release the lock.
    const held = this.#held;
    if (!held) return undefined;
    // The following establishment reports errors of this step.
    const opened = await openRoot(this.path).catch(() => undefined);
    if (opened?.type !== 'present') return undefined;
    const { clusterId } = this.#options.store;
    const same = opened.identity === held.identity && opened.clusterId === clusterId;
    if (same && this.#held === held) return opened.handle;
    await opened.handle.close();
    return undefined;
  }

  async #establish(): Promise<FileHandle> {
    try {
      return await this.#take();
    } catch (error) {
      if (error instanceof StatusError) throw error;
      const refusal = refusalOf(error, this.path);
      await this.#release();
      this.#become(refusal);
      throw new DriverError('Unavailable', refusal.message, { cause: error });
    }
  }

  async #take(): Promise<FileHandle> {
    const { store, node } = this.#options;
    let opened = await openRoot(this.path);
    try {
      const plan = await this.#plan(opened);
      if (plan.type === 'refuse') throw new Refused({ ...plan, type: 'refused' });
      if (opened.type === 'absent') {
        await makeDirectory(this.path, 0o700);
        opened = await openRoot(this.path);
        if (opened.type === 'absent') throw new Error('it was removed while it was created');
      }
      if (this.#held?.identity !== opened.identity)
        await this.#lock(opened.handle, opened.identity);
      if (plan.type !== 'use') await markRoot(opened.handle, store.clusterId);
      await recordRoot(store, node, this.path);
      if (plan.type !== 'use')
        this.#options.logger.info('storage root marked', { path: this.path, plan: plan.type });
      this.#become({ type: 'ready' });
      return opened.handle;
    } catch (error) {
      if (opened.type === 'present') await opened.handle.close();
      throw error;
    }
  }

  async #plan(opened: Parameters<typeof describeRoot>[0]): Promise<RootPlan> {
    const { store, node } = this.#options;
    const { path } = this;
    const { clusterId } = store;
    const found = await describeRoot(opened);
    if (found.type === 'marked')
      return planRoot({ path, clusterId, found, recorded: true, placed: [] });
    const recorded = await isRecorded(store, node, path);
    const placed = await placedIn(store, this.#options);
    const copied = await isCopy(store);
    return planRoot({ path, clusterId, found, recorded, placed, copied });
  }

  async #lock(handle: FileHandle, identity: string): Promise<void> {
    await this.#release();
    await makeRootFolder(handle);
    try {
      const lock = await this.#options.lock(join(this.path, rootFolder));
      this.#held = { identity, lock };
    } catch (error) {
      // No other process has it: the file system refuses a lock.
      if (error instanceof StatusError && error.reason === 'LockUnavailable')
        throw new Refused(refusalOf(error, this.path), { cause: error });
      const holder = lockHolder(error);
      const locked = holder === undefined ? 'is locked' : storageRootHolder.format({ pid: holder });
      const message = `${storageRootLabel.format({ path: this.path })} ${locked}: ${messageOf(error)}`;
      throw new Refused({ type: 'refused', reason: 'StorageRootLocked', message });
    }
  }

  async #release(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    // A lock on a missing disk can't be released properly; the kernel drops it with its descriptors.
    await held?.lock.release().catch((error: unknown) => {
      this.#options.logger.warn('the lock of a storage root could not be released', {
        path: this.path,
        error: messageOf(error),
      });
    });
  }

  #become(state: RootState): void {
    const before = this.#state;
    this.#state = state;
    const { path } = this;
    const { logger } = this.#options;
    if (state.type === 'ready') {
      if (before?.type === 'refused') logger.info('the storage root is usable again', { path });
    } else if (before?.type !== 'refused' || before.message !== state.message)
      logger.error("the storage root can't be used", {
        path,
        reason: state.reason,
        error: state.message,
      });
  }
}
