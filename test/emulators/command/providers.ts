import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from 'kedge';
import { serveMetadata } from '../cloud3/metadata/serve.js';
import type { MetadataOptions } from '../cloud4/metadata.js';
import { accountOf, makeServiceAccount } from '../cloud4/service-account.js';
import type { Token } from '../core/machine.js';
import { RecordedDevices } from '../core/devices.js';
import { LoopDevices } from '../devices/loop-devices.js';
import { type ProviderName, type RunningEmulator, startEmulator } from '../index.js';
import type { CommandOptions } from './options.js';
import { SavedState } from './saved-state.js';

/** Name of each provider's token, and id of its access key. */
const tokenName = 'emulated';

/** The temporary access key of the role of the node at cloud3. The metadata service renews it in time. */
const role: Token = {
  ...{ name: 'emulated-role', keyId: 'ASIAEMULATED', secret: 'emulated-role' },
  sessionToken: 'emulated-session',
};

/** The parts of a provider beside its API. */
interface Beside {
  /** Words for the line that describes the provider. */
  readonly says: string;
  close(): Promise<void>;
}

async function withMetadata(
  running: RunningEmulator,
  { node, cloud3MetadataPort: port }: CommandOptions,
): Promise<Beside> {
  const metadata = await serveMetadata({ running, node, role: () => role, port });
  return {
    says: `, key ${tokenName}, instance metadata ${metadata.endpoint}`,
    close: () => metadata.close(),
  };
}

/** The file with the key of cloud4's service account, below the provider's directory. */
const keyFile = 'key.json';

/** Returns the service account whose key is in the directory. The first start makes the key. */
function accountIn(directory: string): Token {
  const path = join(directory, keyFile);
  if (!existsSync(path))
    writeFileSync(path, makeServiceAccount('kedge').credentialsJSON, { mode: 0o600 });
  return accountOf(readFileSync(path, 'utf8'));
}

/** A provider that `npm run emulators` starts. */
export interface Provider {
  readonly name: ProviderName;
  readonly driver: string;
  /** Region or location of the node. */
  readonly place: string;
  /** Its token, or the secret of its access key. */
  readonly token: string;
  /** Further tokens. */
  readonly others?: readonly Token[];
  /** Returns further tokens, which are kept in the directory. */
  readonly kept?: (directory: string) => readonly Token[];
  /** The metadata server of the node that the emulator has. */
  readonly metadata?: (options: CommandOptions) => MetadataOptions;
  /** Starts what the provider has beside its API. */
  readonly beside?: (running: RunningEmulator, options: CommandOptions) => Promise<Beside>;
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
  {
    name: 'cloud3',
    driver: 'cloud3-block',
    place: 'eu-central-1a',
    token: 'emulated-cloud3',
    port: ({ cloud3Port }) => cloud3Port,
    others: [role],
    beside: withMetadata,
  },
  {
    name: 'cloud4',
    driver: 'cloud4-disk',
    place: 'europe-west3-a',
    token: 'emulated-cloud4',
    port: ({ cloud4Port }) => cloud4Port,
    kept: (directory) => [accountIn(directory)],
    metadata: ({ node, cloud4MetadataPort: port }) => ({ instance: node, port }),
    beside: async ({ metadata }, { directory }) => ({
      says: `, key file ${join(directory, 'cloud4', keyFile)}, instance metadata ${metadata?.endpoint}`,
      close: () => Promise.resolve(),
    }),
  },
];

/** A running emulator, with the directory of the links to its attached volumes. */
export interface RunningProvider extends Provider {
  readonly running: RunningEmulator;
  readonly deviceDirectory: string;
  /** Its endpoint, place, node and token, as one line. */
  readonly says: string;
  close(): Promise<void>;
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
  const tokens: readonly Token[] = [
    { name: tokenName, secret: provider.token },
    ...(provider.others ?? []),
    ...(provider.kept?.(directory) ?? []),
  ];
  const metadata = provider.metadata?.(options);
  let save = (): void => undefined;
  const running = await startEmulator({
    provider: provider.name,
    ...{ instances: [{ name: options.node, place: provider.place }], tokens, clock, devices },
    ...{ actionMs, port: provider.port(options), saved: saved.read() },
    // Pages of the usual size, because no test of pages runs here.
    ...{ perPage: 500, ...(metadata ? { metadata } : {}) },
    changed: () => save(),
  });
  save = () => saved.write(running.save());
  // Devices that were lost with the machine are attached again.
  await running.emulator.settle();
  const beside = await provider.beside?.(running, options);
  const { place, token } = provider;
  return {
    ...{ ...provider, running, deviceDirectory },
    says: `${running.endpoint}, ${place}, node ${options.node}, token ${token}${beside?.says ?? ''}`,
    close: async () => {
      await beside?.close();
      await running.close();
    },
  };
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
