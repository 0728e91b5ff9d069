import { join } from 'node:path';
import { systemClock } from 'kedge';
import type { Token } from '../core/machine.js';
import { RecordedDevices } from '../core/devices.js';
import { LoopDevices } from '../devices/loop-devices.js';
import { type ProviderName, type RunningEmulator, startEmulator } from '../index.js';
import type { CommandOptions } from './options.js';
import { SavedState } from './saved-state.js';

/** A provider that `npm run emulators` starts. */
export interface Provider {
  readonly name: ProviderName;
  readonly driver: string;
  /** Region or location of the node. */
  readonly place: string;
  readonly token: string;
  readonly port: (options: CommandOptions) => number;
}

export const providers: readonly Provider[] = [
  {
    name: 'cloud1',
    driver: 'cloud1-volume',
    place: 'fra1',
    token: 'emulated-cloud1',
    port: ({ cloud1Port }) => cloud1Port,
  },
  {
    name: 'cloud2',
    driver: 'cloud2-volume',
    place: 'fsn1',
    token: 'emulated-cloud2',
    port: ({ cloud2Port }) => cloud2Port,
  },
];

/** A running emulator, with the directory of the links to its attached volumes. */
export interface RunningProvider extends Provider {
  readonly running: RunningEmulator;
  readonly deviceDirectory: string;
}

/** Duration of a provider action, milliseconds: long enough that pending actions can be observed. */
const actionMs = 1_000;

/** Starts an emulator with the saved state and the disks of its directory. */
export async function startProvider(
  provider: Provider,
  options: CommandOptions,
): Promise<RunningProvider> {
  const directory = join(options.directory, provider.name);
  const deviceDirectory = join(directory, 'by-id');
  const saved = new SavedState(directory);
  const clock = systemClock;
  const devices = options.withoutDevices
    ? new RecordedDevices()
    : new LoopDevices({ directory, deviceDirectory: () => deviceDirectory, clock });
  const tokens: readonly Token[] = [{ name: 'emulated', secret: provider.token }];
  let save = (): void => undefined;
  const running = await startEmulator({
    provider: provider.name,
    ...{ instances: [{ name: options.node, place: provider.place }], tokens, clock, devices },
    ...{ actionMs, port: provider.port(options), saved: saved.read() },
    changed: () => save(),
  });
  save = () => saved.write(running.save());
  // Devices that were lost with the machine are attached again.
  await running.emulator.settle();
  return { ...provider, running, deviceDirectory };
}

/** Returns the lines of kedged's configuration file for these providers. */
export function kedgedSettings(all: readonly RunningProvider[]): string {
  return all
    .map(
      ({ driver, running, deviceDirectory }) =>
        `[drivers.${driver}]\nendpoint = "${running.endpoint}"\ndeviceDirectory = "${deviceDirectory}"\n`,
    )
    .join('\n');
}
