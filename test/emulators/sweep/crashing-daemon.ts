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
import {
  pauseOn,
  type Transport,
  TransportError,
  type TransportRequest,
} from '@kedge/driver-sdk/provider';
import { type EmulatedCloud, here, transportTo } from './emulated-cloud.js';

const gib = 1024n ** 3n;
const retryMs = 5_000;
/** Maximum duration of a step with its repetitions, milliseconds. */
const stepMsMax = 2 * 60 * 60_000;
/** Duration of a step after which the test ends the provider's stuck operations, milliseconds. */
const stuckMs = 10 * 60_000;

/** One of the calls that a daemon makes for a volume, one after the other. */
export type Step =
  | 'provision'
  | 'attach'
  | 'write'
  | 'read'
  | 'expand'
  | 'detach'
  | 'snapshot'
  | 'deleteSnapshot'
  | 'delete';

/** The stored state of a volume, which survives a crash of the daemon. */
export interface Plan {
  readonly uid: string;
  readonly steps: readonly Step[];
  /** Number of steps that are done. */
  done: number;
  handle: string;
  link: string;
  sizeGib: number;
  snapshot: string;
  readonly operations: Operations;
  readonly snapshotOperations: Operations;
}

export function newPlan(uid: string, steps: readonly Step[]): Plan {
  const fields = { done: 0, handle: '', link: '', sizeGib: 10, snapshot: '' };
  const records = { operations: memoryOperations(), snapshotOperations: memoryOperations() };
  return { uid, steps, ...fields, ...records };
}

/** How a daemon ends. */
export interface Crash {
  /** Number of the changing request, from 1, at which the daemon is killed: reads are repeated without harm. */
  readonly atChange: number;
  /** Whether the provider executes this request. */
  readonly executed: boolean;
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

/**
 * The error that ends the calls of a killed daemon. Calls of one volume run one after the other, so an open call would
 * hold up those of a later daemon.
 */
function cut(): TransportError {
  return new TransportError('the daemon was killed', true);
}

function isChange({ method, body = '' }: TransportRequest): boolean {
  return method !== 'GET' && !body.includes('Action=Describe');
}

/**
 * One life of a daemon: it works on all plans at once until they are done, or until it is killed. A killed one makes no
 * request, stores nothing and continues nothing.
 */
export class CrashingDaemon {
  readonly #cloud: EmulatedCloud;
  readonly #crash: Crash | undefined;
  readonly #killed: Promise<'killed'>;
  #kill: () => void = () => undefined;
  #alive = true;
  readonly #calls = new AbortController();
  #changes = 0;
  /** Errors of the driver as texts. */
  readonly errors: string[];

  constructor(cloud: EmulatedCloud, crash: Crash | undefined, errors: string[]) {
    this.#cloud = cloud;
    this.#crash = crash;
    this.errors = errors;
    this.#killed = new Promise((resolve) => {
      this.#kill = () => {
        this.#alive = false;
        this.#calls.abort();
        resolve('killed');
      };
    });
  }

  /** @throws the error of a step that no repetition can heal */
  async run(plans: readonly Plan[]): Promise<'done' | 'killed'> {
    const driver = await this.#cloud.driver(this.#transport);
    const all = Promise.all(plans.map((plan) => this.#work(driver, plan)));
    return Promise.race([all.then(() => 'done' as const), this.#killed]);
  }

  readonly #transport: Transport = async (request) => {
    if (!this.#alive) throw cut();
    const changes = isChange(request);
    if (changes) this.#changes += 1;
    const crash = changes && this.#crash?.atChange === this.#changes ? this.#crash : undefined;
    const inner = transportTo(this.#cloud.emulator);
    if (crash) {
      if (crash.executed) await inner(request).catch(() => undefined);
      this.#kill();
      throw cut();
    }
    const answer = await inner(request);
    if (!this.#alive) throw cut();
    return answer;
  };

  async #work(driver: Driver, plan: Plan): Promise<void> {
    for (;;) {
      const step = plan.steps[plan.done];
      if (step === undefined) return;
      const store = await this.#step(driver, plan, step);
      await this.#stillAlive();
      store();
      plan.done += 1;
    }
  }

  /** Waits forever in a killed daemon. */
  async #stillAlive(): Promise<void> {
    if (!this.#alive) await never();
  }

  /** Does a step and returns what is stored after it. */
  async #step(driver: Driver, plan: Plan, step: Step): Promise<() => void> {
    const { disks } = this.#cloud;
    const context = this.#context(plan);
    const request = { ...context, handle: plan.handle };
    const nothing = (): void => undefined;
    switch (step) {
      case 'provision': {
        const asked = { accessMode: 'ReadWriteOnce', topology: {} } as const;
        const sizeBytes = BigInt(plan.sizeGib) * gib;
        const made = await this.#settled(plan, step, () =>
          driver.provision({ ...context, ...asked, sizeBytes }),
        );
        return () => void (plan.handle = made.handle);
      }
      case 'attach': {
        const { devicePath } = await this.#settled(plan, step, () => driver.attach(request));
        return () => void (plan.link = devicePath.slice(devicePath.lastIndexOf('/') + 1));
      }
      case 'write':
        await disks.write(here, plan.link, plan.uid);
        return nothing;
      case 'read': {
        const text = await disks.read(here, plan.link);
        if (text !== plan.uid) throw new Error(`the disk of ${plan.uid} has ${text}`);
        return nothing;
      }
      case 'expand': {
        const sizeGib = plan.sizeGib + 1;
        const sizeBytes = BigInt(sizeGib) * gib;
        await this.#settled(plan, step, () => driver.expand({ ...request, sizeBytes }));
        return () => void (plan.sizeGib = sizeGib);
      }
      case 'detach':
        await this.#settled(plan, step, () => driver.detach(request));
        return nothing;
      case 'snapshot': {
        const asked = { ...request, ...this.#snapshotOf(plan) };
        const made = await this.#settled(plan, step, () => driver.createSnapshot(asked));
        return () => void (plan.snapshot = made.handle);
      }
      case 'deleteSnapshot': {
        const asked = { ...context, ...this.#snapshotOf(plan), handle: plan.snapshot };
        await this.#settled(plan, step, () => driver.deleteSnapshot(asked));
        return nothing;
      }
      case 'delete':
        await this.#settled(plan, step, () => driver.delete(request));
        return nothing;
    }
  }

  #context({ uid, operations }: Plan): CallContext {
    const { signal } = this.#calls;
    const volume = { uid, name: uid, namespace: 'shop' };
    const kept = this.#kept(operations);
    return { volume, parameters: this.#cloud.parameters, node: here, signal, operations: kept };
  }

  #snapshotOf({ uid, snapshotOperations }: Plan) {
    const name = `snapshot-of-${uid}`;
    const snapshot = { uid: name, name, namespace: 'shop' };
    return { snapshot, operations: this.#kept(snapshotOperations) };
  }

  /** The records of operations as this life of the daemon writes them: a killed one no longer does. */
  #kept(operations: Operations): Operations {
    return {
      get: (kind) => operations.get(kind),
      set: async (kind, id) => {
        if (!this.#alive) throw cut();
        await operations.set(kind, id);
      },
      clear: async (kind) => {
        if (!this.#alive) throw cut();
        await operations.clear(kind);
      },
    };
  }

  /**
   * Repeats a call until it is no longer pending, like kedged, and ends the actions of the provider if it takes too
   * long.
   */
  async #settled<R>(plan: Plan, step: Step, call: () => Promise<R | Pending>): Promise<R> {
    const { clock, emulator } = this.#cloud;
    const { signal } = new AbortController();
    const began = clock.now();
    let helped = false;
    for (;;) {
      await this.#stillAlive();
      let waitMs = retryMs;
      try {
        const answer = await call();
        if (!isPending(answer)) return answer;
        waitMs = answer.pollAfterMs;
      } catch (thrown) {
        await this.#stillAlive();
        this.errors.push(inspect(thrown, { depth: 8, showHidden: true }));
        if (errorClasses[DriverError.from(thrown).kind] === 'final') throw thrown;
      }
      const tookMs = clock.now() - began;
      if (tookMs > stepMsMax) throw new Error(`${step} of ${plan.uid} has not ended in two hours`);
      if (tookMs > stuckMs && !helped) {
        helped = true;
        await emulator.finishActions();
      }
      await pauseOn(clock, waitMs, signal);
    }
  }
}
