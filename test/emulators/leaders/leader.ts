import {
  type Clock,
  Manager,
  type ObjectStore,
  seededRandom,
  silentLogger,
  StatusError,
  type Timer,
} from 'kedge';
import type { Transport } from '@kedge/driver-sdk/provider';
import {
  defaultPolicy,
  parameterResolver,
  Sealer,
  secrets,
  snapshotController,
  volumeController,
} from '@kedge/controllers';
import { driverNames, type EmulatedCloud } from '../sweep/emulated-cloud.js';

/** An effect of a leader: a request to the provider, or a write to the store. */
export interface Step {
  /** From 1. */
  readonly number: number;
  readonly what: string;
}

/** Runs around each step. A step whose leader has ended never returns. */
export type Around = <T>(step: Step, act: () => Promise<T>) => Promise<T>;

const writes: readonly PropertyKey[] = [
  'transact',
  'create',
  'update',
  'overwrite',
  'updateStatus',
  'delete',
  'deleteByName',
];
const reads: readonly PropertyKey[] = ['get', 'list'];
const sealer = new Sealer(Buffer.alloc(32, 7));

function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

/** A clock of one process on the clock of all: while the process is paused, none of its timers fires. */
export class ProcessClock implements Clock {
  readonly #clock: Clock;
  readonly #due: (() => void)[] = [];
  #isPaused = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  turnAgeMs(): number {
    return this.#clock.turnAgeMs();
  }

  defer(callback: () => void): void {
    this.#clock.defer(callback);
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    let isCancelled = false;
    const fire = (): void => {
      if (isCancelled) return;
      if (this.#isPaused) this.#due.push(fire);
      else callback();
    };
    const timer = this.#clock.setTimer(fire, delayMs);
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    for (const fire of this.#due.splice(0)) fire();
  }
}

/**
 * A process with the controllers of volumes and snapshots. One that was replaced still calls the provider until its
 * next write, which the store refuses, as the fence of an election does. Then it ends.
 */
export class Leader {
  readonly #store: ObjectStore;
  readonly #around: Around;
  readonly #clock: ProcessClock;
  #manager: Manager | undefined;
  #state: 'leads' | 'deposed' | 'ended' = 'leads';
  #steps = 0;

  private constructor(cloud: EmulatedCloud, store: ObjectStore, around: Around) {
    this.#clock = new ProcessClock(cloud.clock);
    this.#around = around;
    this.#store = this.#seen(store);
  }

  /** @param around sees each step of the leader; default: nothing */
  static async start(
    cloud: EmulatedCloud,
    parts: { readonly store: ObjectStore; readonly transport: Transport },
    around: Around = (_, act) => act(),
  ): Promise<Leader> {
    const leader = new Leader(cloud, parts.store, around);
    await leader.#run(cloud, parts.transport);
    return leader;
  }

  /** Another process leads from now on. */
  depose(): void {
    if (this.#state === 'leads') this.#state = 'deposed';
  }

  /** Its timers stop, as those of a process that gets no time. */
  pause(): void {
    this.#clock.pause();
  }

  resume(): void {
    this.#clock.resume();
  }

  /** Ends the process at once: it makes no further request or write. */
  kill(): void {
    this.#state = 'ended';
    this.#clock.resume();
    void this.#manager?.stop(0).catch(() => undefined);
  }

  get hasEnded(): boolean {
    return this.#state === 'ended';
  }

  async #run(cloud: EmulatedCloud, transport: Transport): Promise<void> {
    const clock = this.#clock;
    const store = this.#store;
    const random = seededRandom(1);
    const manager = new Manager({ store, clock, random });
    const name = driverNames[cloud.provider];
    const driver = await cloud.driver(this.#transport(transport), { clock });
    const drivers = {
      names: [name],
      get: (asked: string) => Promise.resolve(asked === name ? driver : undefined),
    };
    const options = {
      ...{ store, manager, clock, random, drivers, node: 'control', logger: silentLogger },
      resolver: parameterResolver(manager.informer(secrets).lister, sealer),
      policy: defaultPolicy,
    };
    manager.addController(volumeController(options)).addController(snapshotController(options));
    this.#manager = manager;
    await manager.start();
  }

  #step<T>(what: string, act: () => Promise<T>): Promise<T> {
    this.#steps += 1;
    return this.#around({ number: this.#steps, what }, act);
  }

  #transport(inner: Transport): Transport {
    return async (request) => {
      const { method, url, body = '' } = request;
      const [action = `${method} ${url.pathname}`] = /Action=\w+/.exec(body) ?? [];
      if (this.#state === 'ended') return never();
      const answer = await this.#step(action, () => inner(request));
      return this.hasEnded ? never() : answer;
    };
  }

  #seen(store: ObjectStore): ObjectStore {
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        const method = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
        const isWrite = writes.includes(name);
        if (!isWrite && !reads.includes(name)) return method;
        return async (...args: unknown[]): Promise<unknown> => {
          if (this.#state === 'ended') return never();
          const result = isWrite
            ? await this.#step(`store ${String(name)}`, () => this.#write(() => method(...args)))
            : await method(...args);
          return this.hasEnded ? never() : result;
        };
      },
    });
  }

  async #write(act: () => Promise<unknown>): Promise<unknown> {
    if (this.#state === 'leads') return act();
    this.kill();
    throw new StatusError({
      code: 'FailedPrecondition',
      reason: 'LeadershipLost',
      message: 'another process leads',
    });
  }
}
