import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConformanceOptions, driverConformance } from '@kedge/driver-sdk/conformance';
import type { Driver, StorageSettings } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { demandDevices } from './devices.js';
import { LoopBlock } from './loop-block.js';

const mebibyte = 1024n * 1024n;
let folder: string;

async function builtin(name: string): Promise<Driver> {
  const settings: StorageSettings = {
    localVolumeRoot: join(folder, 'local'),
    hostPathAllowlist: [folder],
    allowCreateMissing: true,
  };
  const driver = await builtinDrivers(settings).get(name);
  if (!driver) throw new Error(`no driver ${name}`);
  return driver;
}

const below = async (name: string): Promise<string[]> =>
  (await readdir(join(folder, name), { recursive: true }).catch(() => [])).filter(
    (path) => path !== 'snapshots',
  );

const suites: readonly {
  readonly name: string;
  readonly devices: boolean;
  readonly options: () => ConformanceOptions;
}[] = [
  {
    name: 'local, backing directory',
    devices: false,
    options: () => ({ driver: () => builtin('local'), inventory: () => below('local') }),
  },
  ...(['ext4', 'xfs'] as const).map((fsType) => ({
    name: `local, backing image, ${fsType}`,
    devices: true,
    options: (): ConformanceOptions => ({
      driver: () => builtin('local'),
      parameters: { backing: 'image', fsType },
      sizeBytes: (fsType === 'xfs' ? 320n : 16n) * mebibyte,
      inventory: () => below('local'),
    }),
  })),
  {
    name: 'local-host',
    devices: false,
    options: () => ({
      driver: () => builtin('local-host'),
      parameters: { hostPath: join(folder, 'host'), createIfMissing: 'true' },
    }),
  },
  ...(['ext4', 'xfs'] as const).map((fsType) => ({
    name: `loop-block, ${fsType}`,
    devices: true,
    options: (): ConformanceOptions => ({
      driver: () => new LoopBlock({ directory: join(folder, 'block') }).driver,
      parameters: { fsType },
      sizeBytes: (fsType === 'xfs' ? 320n : 16n) * mebibyte,
      inventory: () => new LoopBlock({ directory: join(folder, 'block') }).inventory(),
    }),
  })),
];

for (const { name, devices, options } of suites)
  describe(`driver conformance: ${name}`, function () {
    this.timeout(60_000);
    before(async function () {
      if (devices) demandDevices(this);
      folder = await mkdtemp(join(tmpdir(), 'kedge-drivers-'));
    });
    after(() => rm(folder, { recursive: true, force: true }));
    // Names are needed before the folder is there; the options only when a case runs.
    const names = driverConformance({ driver: () => builtin('local') }).map((c) => c.name);
    names.forEach((caseName, index) => {
      it(caseName, async () => driverConformance(options())[index]?.run());
    });
  });
