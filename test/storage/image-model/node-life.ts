import { type Clock, type ObjectStore, type Random, silentLogger } from 'kedge';
import { thawLeftovers, type UsedParameters } from '@kedge/controllers';
import type { Driver, DriverRegistry } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { ModelProcess } from '../process.js';
import { FakeHost, type JournalTexts } from './fake-host.js';
import { type FakeKernel, rootPath } from './fake-kernel.js';
import type { Killed } from './machine.js';

/** The state that survives a daemon of the fake node. */
export interface LifePorts {
  readonly kernel: FakeKernel;
  readonly texts: JournalTexts;
  readonly store: ObjectStore;
  readonly used: UsedParameters;
  readonly clock: Clock;
  readonly random: Random;
  readonly parts: NodeParts;
}

const mountRoot = '/mounts';

/** The node's interface for drivers and for the start of a daemon. */
export type NodePorts = Pick<FakeHost, 'root' | 'journal' | 'host'>;

/** The parts of a daemon of the fake node; a variant lacks a safeguard. */
export interface NodeParts {
  /** Loaded before the clock advances, because loading takes real time. */
  driver(host: NodePorts): Promise<Driver>;
  /** Thaws the file systems that a killed daemon left frozen. */
  thaw(host: NodePorts, clock: Clock): Promise<void>;
}

/** Driver `local` and the start of a daemon, unchanged. */
export const soundNode: NodeParts = {
  driver: async ({ root, journal, host }) => {
    const settings = { localVolumeRoot: rootPath, storageRoot: root, journal, host };
    const others = { hostPathAllowlist: [], allowCreateMissing: false };
    const driver = await builtinDrivers({ ...settings, ...others }).get('local');
    if (!driver) throw new Error('there is no driver local');
    return driver;
  },
  thaw: ({ journal, host }, clock) => thawLeftovers({ journal, host, logger: silentLogger, clock }),
};

/** A driver that is registered as `local`. */
export function registryOf(driver: Driver): DriverRegistry {
  return { names: ['local'], get: () => Promise.resolve(driver) };
}

/** One process of the daemon on the fake node. */
export class NodeLife {
  readonly host: FakeHost;
  readonly process: ModelProcess;
  readonly #ports: LifePorts;

  private constructor(ports: LifePorts, host: FakeHost, process: ModelProcess) {
    this.#ports = ports;
    this.host = host;
    this.process = process;
  }

  static async of(ports: LifePorts): Promise<NodeLife> {
    const { kernel, texts, store, used, clock, random } = ports;
    const host = new FakeHost(kernel, texts, clock, random);
    const drivers = registryOf(await ports.parts.driver(host));
    const node = { host: host.host, journal: host.journal, mountRoot };
    const parts = { store, used, clock, random, drivers: () => drivers, node };
    return new NodeLife(ports, host, new ModelProcess(parts));
  }

  /** Thaws file systems, starts its controllers, then adopts mounts. Also settles if it is killed meanwhile. */
  async start(): Promise<void> {
    const killed = new Promise<void>((resolve) => this.process.onDeath(resolve));
    await Promise.race([this.#start(), killed]);
  }

  async #start(): Promise<void> {
    const { kernel, clock, parts } = this.#ports;
    await parts.thaw(this.host, clock);
    // Writers hang at most from the kill to the next start; the daemon receives the exits of killed programs.
    if (!this.host.childrenKilled)
      for (const device of kernel.frozen) kernel.wrongs.push(`${device} is frozen after a start`);
    await this.process.manager.start();
    await this.process.volumeManager.adopt();
  }

  kill(whom: Killed): void {
    if (whom === 'child') return this.host.killChildren();
    this.host.kill(whom);
    this.process.kill();
  }
}
