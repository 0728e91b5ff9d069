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

/** The parts of one process of the daemon. */
export interface ProcessParts {
  readonly store: ObjectStore;
  /** Drivers as used by this process. */
  readonly drivers: (caller: Caller) => DriverRegistry;
  /** The node's record of mounts, which survives the process like the store. */
  readonly used: UsedParameters;
  readonly clock: Clock;
  readonly random: Random;
  readonly policy?: ControllerPolicy;
  /** The node on which it mounts; absent: it mounts nothing itself. */
  readonly node?: {
    readonly host: NodeHost;
    readonly journal: NodeJournal;
    readonly mountRoot: string;
    /** Whether it binds volumes for instances; by default they use the mount itself. */
    readonly mayMount?: boolean;
  };
}

/** Seals and opens the secrets of all processes of the model. */
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
 * One process of the daemon over a store that survives it: after `kill`, or after its last write, its calls
 * never return.
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

  /** Kills it at the further write with this number, which is executed in half of the cases. */
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
              // The last one is lost with the process in half of the cases.
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
