import { mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConformanceOptions } from '@kedge/driver-sdk/conformance';
import type { Driver, StorageSettings } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { LoopBlock } from './loop-block.js';
import { loopCloud } from './loop-cloud.js';
import { inventoryOf, ProviderProcess } from './provider/process.js';

const mebibyte = 1024n * 1024n;
const sizeOf = { ext4: 16n * mebibyte, xfs: 320n * mebibyte } as const;

/** A driver of this project as a subject of the suite. */
export interface Subject {
  readonly name: string;
  /** Whether it needs loop devices and mounts. */
  readonly devices: boolean;
  /** The turn in which a sample has it, of two that differ in their file system; absent: each sample has it. */
  readonly turn?: number;
  /** Starts the services that the driver calls and returns the function that stops them; absent: there are none. */
  readonly start?: (folder: string) => Promise<() => Promise<void>>;
  /** Options of a driver that keeps all its data below `folder`. */
  readonly options: (folder: string) => ConformanceOptions;
}

async function builtin(name: string, folder: string): Promise<Driver> {
  const settings: StorageSettings = {
    localVolumeRoot: join(folder, 'local'),
    hostPathAllowlist: [folder],
    allowCreateMissing: true,
  };
  const driver = await builtinDrivers(settings).get(name);
  if (!driver) throw new Error(`no driver ${name}`);
  return driver;
}

/** Files and directories below the local driver's root. */
async function stored(folder: string): Promise<readonly string[]> {
  const names = await readdir(join(folder, 'local'), { recursive: true }).catch(() => []);
  return names.filter((path) => path !== 'snapshots');
}

function loopBlock(folder: string): LoopBlock {
  const instances = new Map([
    ['conformance', ['i-1']],
    ['other', ['i-2']],
  ]);
  return new LoopBlock({ directory: join(folder, 'block'), instances });
}

async function startProvider(folder: string): Promise<() => Promise<void>> {
  const instances = { conformance: 'i-1', other: 'i-2' };
  const provider = await ProviderProcess.start(join(folder, 'cloud'), instances);
  return () => provider.end();
}

/** Timeouts of calls: a test with a hanging call should be short. */
const timeouts = { callTimeoutMs: 20_000, cancelTimeoutMs: 2_000 } as const;

/** The drivers under test, by the medium of their volumes. */
export const subjects: readonly Subject[] = [
  {
    name: 'local, backing directory',
    devices: false,
    options: (folder) => ({
      ...timeouts,
      driver: () => builtin('local', folder),
      inventory: () => stored(folder),
      invalidParameters: [{ backing: 'tape' }, { fsType: 'ext4' }],
    }),
  },
  ...(['ext4', 'xfs'] as const).map(
    (fsType, turn): Subject => ({
      name: `local, backing image, ${fsType}`,
      turn,
      devices: true,
      options: (folder) => ({
        ...timeouts,
        driver: () => builtin('local', folder),
        parameters: { backing: 'image', fsType },
        sizeBytes: sizeOf[fsType],
        inventory: () => stored(folder),
        invalidParameters: [{ fsType: 'btrfs' }, { backing: 'no' }],
      }),
    }),
  ),
  {
    name: 'local-host',
    devices: false,
    options: (folder) => ({
      ...timeouts,
      driver: () => builtin('local-host', folder),
      parameters: { hostPath: join(folder, 'host'), createIfMissing: 'true' },
      invalidParameters: [{ createIfMissing: 'perhaps' }],
    }),
  },
  // A sample has each file system.
  ...(['xfs', 'ext4'] as const).map(
    (fsType, turn): Subject => ({
      name: `loop-block, ${fsType}`,
      turn,
      devices: true,
      options: (folder) => ({
        ...timeouts,
        driver: () => loopBlock(folder).driver,
        parameters: { fsType, token: 'token-of-the-conformance-test' },
        sizeBytes: sizeOf[fsType],
        otherNode: 'other',
        unknownNode: 'nowhere',
        inventory: () => loopBlock(folder).inventory(),
        invalidParameters: [{ fsType: 'btrfs' }, { encrypted: 'no' }],
      }),
    }),
  ),
  {
    name: 'loop-cloud, ext4, asynchronous',
    devices: true,
    start: startProvider,
    options: (folder) => ({
      ...timeouts,
      driver: () => loopCloud({ folder: join(folder, 'cloud') }),
      parameters: { fsType: 'ext4', token: 'token-of-the-conformance-test' },
      sizeBytes: sizeOf.ext4,
      otherNode: 'other',
      unknownNode: 'nowhere',
      inventory: () => inventoryOf(join(folder, 'cloud')),
      invalidParameters: [{ fsType: 'btrfs' }, { encrypted: 'no' }],
    }),
  },
];

/** A new folder for a subject. Its options may be requested repeatedly. */
export async function subjectFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kedge-drivers-'));
  await mkdir(join(folder, 'host'));
  return folder;
}
