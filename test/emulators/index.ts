/**
 * Emulators of the providers, for tests and for `npm run emulators`. They have the providers' data formats, scopes,
 * actions that take time, pages, rate limits, rules of placement and error bodies. Clock and randomness are injected.
 * Every request is checked against a schema of the provider's definition, which was written independently.
 */
import { type Clock, type Random, systemClock, systemRandom } from 'kedge';
import { Cloud1 } from './cloud1/machine.js';
import type { SavedState as SavedCloud1 } from './cloud1/state.js';
import { Cloud2 } from './cloud2/machine.js';
import type { SavedState as SavedCloud2 } from './cloud2/state.js';
import { Cloud3 } from './cloud3/machine.js';
import type { SavedState as SavedCloud3 } from './cloud3/state.js';
import { Cloud4 } from './cloud4/machine.js';
import { type MetadataOptions, MetadataServer } from './cloud4/metadata.js';
import type { SavedState as SavedCloud4 } from './cloud4/state.js';
import { type Devices, RecordedDevices } from './core/devices.js';
import { Emulator } from './core/emulator.js';
import type { Instance, Machine, Token } from './core/machine.js';
import { serveEmulator } from './core/server.js';
import { checkOf } from './schema/index.js';

export type ProviderName = 'cloud1' | 'cloud2' | 'cloud3' | 'cloud4';

/** Options of an emulator. */
export interface EmulatorOptions {
  readonly provider: ProviderName;
  /** Droplets, servers or instances. Default: none. */
  readonly instances?: readonly Instance[];
  /** Default: one token with the name "test", the secret "test-token" and all rights. */
  readonly tokens?: readonly Token[];
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** Only cloud1 uses it. Default: the system's randomness. */
  readonly random?: Random;
  /** Default: {@link RecordedDevices}. */
  readonly devices?: Devices;
  /** Duration of an action, milliseconds; default 1000. */
  readonly actionMs?: number;
  /** Maximum number of volumes of the account or project; default 100. cloud4 has no such limit. */
  readonly volumesMax?: number;
  /**
   * Maximum number of requests per token (cloud1) or project (cloud2 with `hour`, cloud4 with `minute`); at cloud3,
   * `minute` is the capacity of the bucket of each action, and `hour` its refill. Default: the provider's limits.
   */
  readonly requestsMax?: { readonly hour: number; readonly minute: number };
  /** Maximum number of items of a page of cloud3 and cloud4. Default: 2. */
  readonly perPage?: number;
  /** Maximum number of snapshots of cloud3. Default: 1000. */
  readonly snapshotsMax?: number;
  /** The keys for encryption that exist at cloud3. Default: every one. */
  readonly kmsKeys?: readonly string[];
  /** The clock of the clients that sign requests or tokens (cloud3, cloud4). Default: the machine's clock. */
  readonly signatureClock?: Clock;
  /** The instance of cloud4 for which a metadata server listens too. Default: none. */
  readonly metadata?: MetadataOptions;
  /** Default: a free port. */
  readonly port?: number;
  /** A state that {@link RunningEmulator.save} returned. */
  readonly saved?: unknown;
  /** Called when the state may have changed: after requests, ends of actions, and new or removed instances. */
  readonly changed?: () => void;
}

/** A listening emulator. */
export interface RunningEmulator {
  /** Scheme, host and port: the `endpoint` of the driver. */
  readonly endpoint: string;
  readonly emulator: Emulator;
  readonly clock: Clock;
  readonly faults: Emulator['faults'];
  /** The log of requests. */
  readonly requests: Emulator['requests'];
  /** The listening metadata server of cloud4; absent without the option `metadata`. */
  readonly metadata?: { readonly endpoint: string; readonly server: MetadataServer };
  inventory(): Promise<readonly string[]>;
  /** Returns the resources and the actions as JSON data, for a restart. See {@link Machine.save}. */
  save(): unknown;
  close(): Promise<void>;
}

const allMayDo: readonly Token[] = [{ name: 'test', secret: 'test-token' }];

function machineOf(options: EmulatorOptions, clock: Clock): Machine {
  const { instances = [], tokens = allMayDo, random = systemRandom, actionMs = 1_000 } = options;
  const { provider, volumesMax, requestsMax, saved } = options;
  const common = {
    ...{ instances, tokens, startedAt: clock.now(), takesMs: () => actionMs },
    ...(volumesMax === undefined ? {} : { volumesMax }),
    ...(requestsMax === undefined ? {} : { requestsMax }),
  };
  if (provider === 'cloud1')
    return new Cloud1({ ...common, random, ...(saved ? { saved: saved as SavedCloud1 } : {}) });
  const { perPage, snapshotsMax, kmsKeys, signatureClock = systemClock } = options;
  const pages = perPage === undefined ? {} : { perPage };
  if (provider === 'cloud3')
    return new Cloud3({
      ...{ ...common, ...pages, signatureClock },
      ...(snapshotsMax === undefined ? {} : { snapshotsMax }),
      ...(kmsKeys ? { kmsKeys } : {}),
      ...(saved ? { saved: saved as SavedCloud3 } : {}),
    });
  if (provider === 'cloud4')
    return new Cloud4({
      ...{ ...common, ...pages, signatureClock },
      ...(saved ? { saved: saved as SavedCloud4 } : {}),
    });
  return new Cloud2({ ...common, ...(saved ? { saved: saved as SavedCloud2 } : {}) });
}

/** Creates an emulator that does not listen: {@link Emulator.exchange} executes its requests. */
export function createEmulator(options: EmulatorOptions): {
  readonly emulator: Emulator;
  readonly machine: Machine;
} {
  const { clock = systemClock, devices = new RecordedDevices(), changed } = options;
  const machine = machineOf(options, clock);
  const check = checkOf(options.provider);
  const parts = { machine, clock, devices, check, ...(changed ? { changed } : {}) };
  return { emulator: new Emulator(parts), machine };
}

/** Starts an emulator that listens on the loopback address. */
export async function startEmulator(options: EmulatorOptions): Promise<RunningEmulator> {
  const { emulator, machine } = createEmulator(options);
  const server = await serveEmulator(emulator, options.port ?? 0);
  const metadata = await metadataOf(machine, options);
  return {
    endpoint: server.endpoint,
    ...(metadata ? { metadata } : {}),
    emulator,
    clock: emulator.clock,
    faults: emulator.faults,
    requests: emulator.requests,
    inventory: () => emulator.inventory(),
    save: () => machine.save(),
    close: async () => {
      await metadata?.close();
      await server.close();
      await emulator.close();
    },
  };
}

async function metadataOf(machine: Machine, options: EmulatorOptions) {
  const { metadata, signatureClock = systemClock } = options;
  if (!metadata || !(machine instanceof Cloud4)) return undefined;
  const server = new MetadataServer(machine, metadata, signatureClock);
  return { server, ...(await serveEmulator(server, metadata.port ?? 0)) };
}
