import { type Clock, Manager, type ObjectStore, type Random, silentLogger } from 'kedge';
import {
  type ControllerPolicy,
  defaultPolicy,
  namespaceController,
  parameterResolver,
  Sealer,
  secrets,
  snapshotController,
  type UsedParameters,
  volumeController,
  VolumeManager,
} from '@kedge/controllers';
import type { DriverRegistry, NodeHost, NodeJournal } from '@kedge/driver-sdk';
import type { Caller } from './unreliable-provider.js';

/** What a life of a daemon has. */
export interface ProcessParts {
  readonly store: ObjectStore;
  /** Drivers as this life uses them. */
  readonly drivers: (caller: Caller) => DriverRegistry;
  /** The node's record of mounts, which outlives the process as the store does. */
  readonly used: UsedParameters;
  readonly clock: Clock;
  readonly random: Random;
  readonly policy?: ControllerPolicy;
  /** The node that it mounts on; absent: it mounts nothing itself. */
  readonly node?: {
    readonly host: NodeHost;
    readonly journal: NodeJournal;
    readonly mountRoot: string;
    /** Whether it binds what instances see; by default they see where it is mounted. */
    readonly mayMount?: boolean;
  };
}

/** Seals the secrets of the model. */
export const modelSealer = new Sealer(Buffer.alloc(32));
const writes = [
  'transact',
  'create',
  'update',
  'overwrite',
  'updateStatus',
  'delete',
  'deleteByName',
];

/**
 * One life of a daemon over a store that outlives it: after `kill`, or once it has made its last
 * write, none of its calls ever returns.
 */
export class ModelProcess implements Caller {
  readonly manager: Manager;
  readonly volumeManager: VolumeManager;
  #writesLeft = Infinity;
  #alive = true;
  readonly #mourners: (() => void)[] = [];
  readonly #random: Random;

  constructor({ store, drivers: driversOf, used, clock, random, node, policy }: ProcessParts) {
    this.#random = random;
    const mine = this.#mortal(store);
    this.manager = new Manager({ store: mine, clock, random });
    const drivers = driversOf(this);
    const lister = this.manager.informer(secrets).lister;
    const parts = {
      store: mine,
      manager: this.manager,
      drivers,
      resolver: parameterResolver(lister, modelSealer),
      node: 'n1',
      clock,
      random,
      logger: silentLogger,
      policy: policy ?? defaultPolicy,
    };
    this.volumeManager = new VolumeManager({
      ...parts,
      used,
      mountRoot: '/nowhere',
      mayMount: false,
      ...node,
    });
    this.manager
      .addController(volumeController(parts))
      .addController(snapshotController(parts))
      .addController(namespaceController(parts));
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** It dies right after, or right before, its so many-th next write. */
  dieAfterWrites(count: number): void {
    this.#writesLeft = count;
  }

  kill(): void {
    this.#alive = false;
    for (const listener of this.#mourners.splice(0)) listener();
  }

  onDeath(listener: () => void): void {
    if (this.#alive) this.#mourners.push(listener);
    else listener();
  }

  #mortal(store: ObjectStore): ObjectStore {
    const gone = (): Promise<never> => new Promise(() => undefined);
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        const method = value.bind(target) as (...args: unknown[]) => unknown;
        if (!writes.includes(String(name)) && name !== 'get' && name !== 'list') return method;
        return async (...args: unknown[]): Promise<unknown> => {
          if (!this.#alive) return gone();
          if (writes.includes(String(name))) {
            this.#writesLeft -= 1;
            if (this.#writesLeft <= 0) {
              this.kill();
              // The last one is lost with the process half of the time.
              if (this.#random.next() < 0.5) return gone();
            }
          }
          const result = await method(...args);
          return this.#alive ? result : gone();
        };
      },
    });
  }
}
