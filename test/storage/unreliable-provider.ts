import type { Clock, Random } from 'kedge';
import {
  type Driver,
  DriverError,
  type DriverErrorKind,
  type MountRequest,
  type ProvisionResult,
} from '@kedge/driver-sdk';

interface Disk {
  readonly uid: string;
  sizeBytes: bigint;
  node: string | undefined;
  mounted: boolean;
  formats: number;
  /** Its content was lost after the control plane had read it as formatted. */
  wiped: boolean;
}

/** Errors of calls without an effect. */
const refusals: readonly DriverErrorKind[] = [
  'CredentialsRejected',
  'PermissionDenied',
  'QuotaExceeded',
  'Throttled',
  'Unavailable',
  'Internal',
];
/** Errors of calls that were executed: a lost answer. */
const lostReplies: readonly DriverErrorKind[] = ['Timeout', 'Unavailable', 'Internal'];

/** The process that calls. */
export interface Caller {
  readonly alive: boolean;
  onDeath(listener: () => void): void;
}

/** A provider of disks in memory with all failures of a provider. It records forbidden requests. */
export class UnreliableProvider {
  readonly disks = new Map<string, Disk>();
  readonly snapshots = new Map<string, bigint>();
  /** Calls that would have destroyed data or broken a rule; must stay empty. */
  readonly wrongs: string[] = [];
  readonly #random: Random;
  readonly #clock: Clock;
  /** Percentage of failing calls. */
  faultsPercent = 30;

  constructor(random: Random, clock: Clock) {
    this.#random = random;
    this.#clock = clock;
  }

  #chance(percent: number): boolean {
    return this.#random.next() * 100 < percent;
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random.next() * items.length)] as T;
  }

  /** Executes the effect of a call. Some calls fail before it or after it, and some are slow. */
  async #call<T>(caller: Caller, effect: () => T): Promise<T> {
    const hang = new Promise<never>(() => undefined);
    await Promise.resolve();
    if (this.#chance(this.faultsPercent / 2))
      throw new DriverError(this.#pick(refusals), 'refused', { retryAfterMs: 1_000 });
    if (this.#chance(20)) {
      const delayMs = this.#random.next() * 8_000;
      const survived = await new Promise<boolean>((resolve) => {
        this.#clock.setTimer(() => resolve(caller.alive), delayMs);
        caller.onDeath(() => resolve(false));
      });
      // A request in progress at the end of the process arrives immediately, or never.
      if (!survived && this.#chance(50)) return hang;
    }
    const result = effect();
    if (!caller.alive) return hang;
    if (this.#chance(this.faultsPercent / 2))
      throw new DriverError(this.#pick(lostReplies), 'the reply was lost');
    return result;
  }

  #disk(uid: string): Disk {
    const disk = this.disks.get(uid);
    if (!disk) throw new DriverError('NotFound', `disk ${uid} does not exist`);
    return disk;
  }

  #mount(uid: string, { mayFormat }: MountRequest): void {
    const disk = this.#disk(uid);
    if (disk.node === undefined) throw new DriverError('Unavailable', 'the device is not there');
    if (disk.formats === 0) {
      if (!mayFormat) throw new DriverError('Internal', 'blank, but formatted before');
      if (disk.wiped) this.wrongs.push(`${uid} was formatted although it had been before`);
      disk.formats += 1;
    }
    disk.mounted = true;
  }

  /** The driver as used by one process. */
  driver(caller: Caller): Driver {
    const call = <T>(effect: () => T): Promise<T> => this.#call(caller, effect);
    return {
      name: 'unreliable',
      capabilities: () => ({
        accessModes: ['ReadWriteOnce'],
        snapshots: true,
        clone: false,
        expand: true,
        onlineExpand: true,
        blockDevice: true,
        topologyKeys: [],
        sensitiveParameters: ['token'],
        ownsData: true,
      }),
      // A class or a volume may omit it; one of them must have it.
      validateParameters: ({ zone }, { level }) =>
        level === 'volume' && !zone ? [{ key: 'zone', description: 'is required' }] : [],
      provision: ({ volume, sizeBytes }) => call(() => this.#provision(volume.uid, sizeBytes, 0)),
      observe: ({ volume }) =>
        call(() => {
          const { uid, sizeBytes } = this.#disk(volume.uid);
          return { handle: uid, sizeBytes };
        }),
      delete: ({ volume }) =>
        call(() => {
          const disk = this.disks.get(volume.uid);
          if (disk?.mounted) this.wrongs.push(`${volume.uid} was deleted while mounted`);
          else if (disk?.node) this.wrongs.push(`${volume.uid} was deleted while attached`);
          this.disks.delete(volume.uid);
        }),
      attach: ({ volume, node }) =>
        call(() => {
          const disk = this.#disk(volume.uid);
          if (disk.node !== undefined && disk.node !== node)
            throw new DriverError('InUse', `attached to ${disk.node}`);
          disk.node = node;
          return { devicePath: `/dev/${disk.uid}` };
        }),
      detach: ({ volume, node }) =>
        call(() => {
          const disk = this.disks.get(volume.uid);
          if (disk?.node !== node) return;
          if (disk.mounted) this.wrongs.push(`${volume.uid} was detached while mounted`);
          disk.node = undefined;
        }),
      mount: (request) =>
        call(() => {
          this.#mount(request.volume.uid, request);
          return { path: request.target, formatted: true };
        }),
      unmount: ({ volume }) =>
        call(() => {
          const disk = this.disks.get(volume.uid);
          if (disk) disk.mounted = false;
        }),
      expand: ({ volume, sizeBytes }) =>
        call(() => {
          const disk = this.#disk(volume.uid);
          if (sizeBytes > disk.sizeBytes) disk.sizeBytes = sizeBytes;
          return { sizeBytes: disk.sizeBytes, fileSystemPending: false };
        }),
      createSnapshot: ({ volume, snapshot }) =>
        call(() => {
          if (!this.snapshots.has(snapshot.uid) && !this.disks.has(volume.uid))
            this.wrongs.push(
              `${volume.uid} did not exist when snapshot ${snapshot.uid} was created from it`,
            );
          if (!this.snapshots.has(snapshot.uid))
            this.snapshots.set(snapshot.uid, this.#disk(volume.uid).sizeBytes);
          return this.#snapshot(snapshot.uid);
        }),
      observeSnapshot: ({ snapshot }) => call(() => this.#snapshot(snapshot.uid)),
      deleteSnapshot: ({ snapshot }) => call(() => void this.snapshots.delete(snapshot.uid)),
      restore: ({ volume, snapshot, sizeBytes }) =>
        call(() => {
          if (!this.snapshots.has(snapshot.uid) && !this.disks.has(volume.uid))
            this.wrongs.push(`snapshot ${snapshot.uid} did not exist when it was restored`);
          // The restored content already has a file system.
          return this.#provision(volume.uid, sizeBytes, 1);
        }),
    };
  }

  /** Makes a formatted disk read as blank, like a wrong device or lost blocks. No-op for a mounted disk. */
  wipe(uid: string): void {
    const disk = this.disks.get(uid);
    if (!disk || disk.mounted) return;
    disk.formats = 0;
    disk.wiped = true;
  }

  #provision(uid: string, sizeBytes: bigint, formats: number): ProvisionResult {
    const known = this.disks.get(uid);
    const disk = known ?? {
      uid,
      sizeBytes,
      node: undefined,
      mounted: false,
      formats,
      wiped: false,
    };
    this.disks.set(uid, disk);
    return { handle: uid, sizeBytes: disk.sizeBytes };
  }

  #snapshot(uid: string): { handle: string; restoreSizeBytes: bigint; ready: boolean } {
    const restoreSizeBytes = this.snapshots.get(uid);
    if (restoreSizeBytes === undefined)
      throw new DriverError('NotFound', `snapshot ${uid} does not exist`);
    return { handle: uid, restoreSizeBytes, ready: true };
  }
}
