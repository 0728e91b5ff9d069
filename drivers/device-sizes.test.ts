import { expect } from 'chai';
import {
  memoryOperations,
  mountBlockDevice,
  type MountRequest,
  nodeHost,
  thisNode,
} from '@kedge/driver-sdk';
import { bytesOf } from '@kedge/driver-sdk/provider';
import { requireSize as cloud1Size } from './cloud1-volume/requests.js';
import { requireSize as cloud2Size } from './cloud2-volume/requests.js';
import { requireSize as cloud3Size } from './cloud3-block/parameters.js';
import { requireSize as cloud4Size } from './cloud4-disk/requests.js';

const gib = 1024n ** 3n;

/** Mounts a device with xfs of a driver that promises its size; resolves with the programs that changed something. */
async function mount(bytes: bigint, sizeBytes: bigint, mayFormat: boolean): Promise<string> {
  const done: string[] = [];
  const host = {
    ...nodeHost((command, args) => {
      const resultOf = (stdout: string) => Promise.resolve({ exitCode: 0, stdout, stderr: '' });
      if (args.includes('--getsize64')) return resultOf(`${bytes}\n`);
      if (command === 'blkid') return resultOf('TYPE=xfs\n');
      done.push(command);
      return resultOf('');
    }),
    mounts: () => Promise.resolve([]),
    hasFileSystem: () => Promise.resolve(false),
    holders: { holders: () => Promise.resolve([]) },
    files: {
      ...thisNode.files,
      realPath: (path: string) => Promise.resolve(path),
      kindAt: () => Promise.resolve('blockDevice' as const),
      makeFolder: () => Promise.resolve(),
      removeFolder: () => Promise.resolve(),
      startsAndEndsBlank: () => Promise.resolve(false),
    },
  };
  const request: MountRequest = {
    ...{ volume: { uid: 'v', name: 'v', namespace: 'shop' }, handle: 'v', parameters: {} },
    ...{ node: 'n', signal: new AbortController().signal, operations: memoryOperations() },
    ...{ devicePath: '/dev/sdb', target: '/m/v', readOnly: false, mayFormat, sizeBytes },
  };
  await mountBlockDevice(request, { host, exactSize: true }).catch((error: unknown) =>
    done.push(String(error)),
  );
  return done.join(' ');
}

/** The size in GiB that a driver requests of its provider, which is that of the device. */
const drivers: Record<string, (bytes: bigint) => number> = {
  'cloud1-volume': cloud1Size,
  'cloud2-volume': cloud2Size,
  'cloud3-block': (bytes) => cloud3Size(bytes, {}),
  'cloud3-block, cold disks': (bytes) => cloud3Size(bytes, { volumeType: 'sc1' }),
  'cloud4-disk': (bytes) => cloud4Size(bytes, 'pd-balanced'),
  'cloud4-disk, extreme disks': (bytes) => cloud4Size(bytes, 'pd-extreme'),
};

describe('the recorded size of a volume, which its device must have', () => {
  for (const [name, sizeOf] of Object.entries(drivers))
    it(`of ${name} is the rounded one of the provider, for any requested size`, async () => {
      for (const requested of [1n, gib, (3n * gib) / 2n, 10n * gib, 700n * gib + 1n]) {
        const device = bytesOf(sizeOf(requested));
        for (const mayFormat of [true, false])
          expect(await mount(device, device, mayFormat), `${requested}`).to.equal(
            'mount xfs_growfs',
          );
        // The requested size instead would be refused at the first mount.
        if (device > requested + gib / 4n)
          expect(await mount(device, requested, true), `${requested}`).to.contain('another disk');
        expect(await mount(device, device + gib, false), `${requested}`).to.contain('another disk');
      }
    });
});
