/**
 * Providers that behave like the real ones, for tests and for `npm run emulators`: wire formats, scopes, actions
 * that take time, pages, rate limits, placement rules and error bodies. Time and randomness are injected, and
 * every request is checked against a schema that was written apart from the emulators.
 */
import { type Clock, type Random, systemClock, systemRandom } from 'kedge';
import { Cloud1 } from './cloud1/machine.js';
import type { SavedState as SavedCloud1 } from './cloud1/state.js';
import { Cloud2 } from './cloud2/machine.js';
import type { SavedState as SavedCloud2 } from './cloud2/state.js';
import { type Devices, RecordedDevices } from './core/devices.js';
import { Emulator } from './core/emulator.js';
import type { Instance, Machine, Token } from './core/machine.js';
import { serveEmulator } from './core/server.js';
import { checkOf } from './schema/index.js';

export type ProviderName = 'cloud1' | 'cloud2';

/** Options of an emulator. */
export interface EmulatorOptions {
  readonly provider: ProviderName;
  /** Droplets or servers. Default: none. */
  readonly instances?: readonly Instance[];
  /** Default: one named "test" with the secret "test-token" that may do everything. */
  readonly tokens?: readonly Token[];
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** Default: the system's randomness. */
  readonly random?: Random;
  /** Default: devices that only remember their changes. */
  readonly devices?: Devices;
  /** How long an action takes, milliseconds; default 1000. */
  readonly actionMs?: number;
  /** Volumes that the account or project can have; default 100. */
  readonly volumesMax?: number;
  /** Requests a token has, or a project. Default: the provider's. */
  readonly requestsMax?: { readonly hour: number; readonly minute: number };
  /** Default: a free port. */
  readonly port?: number;
  /** A state that {@link RunningEmulator.save} returned. */
  readonly saved?: unknown;
  /** Called after each change of the state. */
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
  inventory(): Promise<readonly string[]>;
  /** The form of the whole state, for a restart. */
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
  return new Cloud2({ ...common, ...(saved ? { saved: saved as SavedCloud2 } : {}) });
}

/** An emulator without a socket: {@link Emulator.exchange} answers its requests. */
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

/** Starts a provider on the loopback address. */
export async function startEmulator(options: EmulatorOptions): Promise<RunningEmulator> {
  const { emulator, machine } = createEmulator(options);
  const server = await serveEmulator(emulator, options.port ?? 0);
  return {
    endpoint: server.endpoint,
    emulator,
    clock: emulator.clock,
    faults: emulator.faults,
    requests: emulator.requests,
    inventory: () => emulator.inventory(),
    save: () => machine.save(),
    close: async () => {
      await server.close();
      await emulator.close();
    },
  };
}
