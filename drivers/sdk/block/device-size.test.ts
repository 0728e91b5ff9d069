import { expect } from 'chai';
import { mountBlockDevice } from './block-mount.js';
import type { MountRequest } from '../contract/driver.js';
import { DriverError } from '../errors/errors.js';
import { memoryOperations } from '../contract/operations.js';
import { parseMountTable } from '../node/mount-table.js';
import { nodeHost, thisNode } from '../node/this-node.js';

const gib = 1024n ** 3n;
const recorded = 10n * gib;

interface Case {
  /** Whether the device is mounted at the target already. */
  readonly isMounted?: boolean;
  readonly bytes: bigint;
  readonly content: 'blank' | 'ext4' | 'xfs';
  readonly exactSize?: boolean;
  readonly asked?: Partial<MountRequest>;
}

/** The programs that change the device or mount it, or the refusal of the mount. */
async function mounting({
  bytes,
  content,
  exactSize = true,
  asked,
  isMounted = false,
}: Case): Promise<string> {
  const done: string[] = [];
  const host = {
    ...nodeHost((command, args) => {
      const resultOf = (stdout: string, exitCode = 0) =>
        Promise.resolve({ exitCode, stdout, stderr: '' });
      if (args.includes('--getsize64')) return resultOf(`${bytes}\n`);
      if (command === 'blkid')
        return content === 'blank' ? resultOf('', 2) : resultOf(`TYPE=${content}\n`);
      if (command === 'dumpe2fs') return resultOf('Block count:   1\nBlock size:   4096\n');
      if (command !== 'blockdev') done.push(command);
      return resultOf('');
    }),
    mounts: () =>
      Promise.resolve(
        isMounted ? parseMountTable(`1 0 8:16 / /m/v rw - ${content} /dev/sdb rw`) : [],
      ),
    deviceNumber: () => Promise.resolve('8:16'),
    hasFileSystem: () => Promise.resolve(false),
    holders: { holders: () => Promise.resolve([]) },
    files: {
      ...thisNode.files,
      realPath: (path: string) => Promise.resolve(path),
      kindAt: (path: string) =>
        Promise.resolve(path.startsWith('/dev/') ? ('blockDevice' as const) : ('absent' as const)),
      makeFolder: () => Promise.resolve(),
      removeFolder: () => Promise.resolve(),
      startsAndEndsBlank: () => Promise.resolve(content === 'blank'),
    },
  };
  const request: MountRequest = {
    ...{ volume: { uid: 'v', name: 'v', namespace: 'shop' }, handle: 'v', parameters: {} },
    ...{ node: 'n', signal: new AbortController().signal, operations: memoryOperations() },
    ...{ devicePath: '/dev/sdb', target: '/m/v', readOnly: false, mayFormat: true },
    ...{ sizeBytes: recorded },
    ...asked,
  };
  try {
    const { fileSystemPending } = await mountBlockDevice(request, { host, exactSize });
    if (isMounted) done.push(fileSystemPending === true ? 'pending' : 'grown');
  } catch (error) {
    expect(error).to.be.instanceOf(DriverError);
    done.push(`${(error as DriverError).kind}: ${(error as Error).message}`);
  }
  return done.join(' ');
}

const later = { mayFormat: false } as const;
const made = 'mkfs.ext4 e2fsck mount resize2fs';
const kept = 'e2fsck mount resize2fs';
const other =
  /^Unavailable: device \/dev\/sdb has \d+ bytes, and the volume has \d+: it is another/;

describe('the size of the device at a mount', () => {
  const rows: readonly (readonly [what: string, Case, string | RegExp])[] = [
    ['a new volume', { bytes: recorded, content: 'blank' }, made],
    ['one with less than its size', { bytes: recorded - 4096n, content: 'blank' }, made],
    ['one with more than its size', { bytes: recorded + 4096n, content: 'blank' }, made],
    ['a smaller blank disk', { bytes: 9n * gib, content: 'blank' }, other],
    ['a larger blank disk', { bytes: 11n * gib, content: 'blank' }, other],
    ['an empty device', { bytes: 0n, content: 'blank' }, other],
    ['a killed first mount', { bytes: recorded, content: 'ext4' }, kept],
    ['a killed first mount of xfs', { bytes: recorded, content: 'xfs' }, 'mount xfs_growfs'],
    ['the ext4 of another user', { bytes: 400n * gib, content: 'ext4' }, other],
    ['the xfs of another user', { bytes: gib, content: 'xfs' }, other],
    [
      'a killed first mount of a volume that has grown and whose new size is recorded',
      { bytes: 20n * gib, content: 'ext4', asked: { sizeBytes: 20n * gib } },
      kept,
    ],
    [
      'a first mount while the volume grows, which is repeated later',
      { bytes: 20n * gib, content: 'ext4' },
      /still growing, or it was grown at its provider: then set the size .* to 21474836480 bytes/,
    ],
    ['a later mount', { bytes: recorded, content: 'ext4', asked: later }, kept],
    [
      'a later mount of a volume that an operator has grown at the provider',
      { bytes: 20n * gib, content: 'ext4', asked: later },
      kept,
    ],
    [
      'a later mount of a smaller disk',
      { bytes: 9n * gib, content: 'ext4', asked: later },
      /another disk.*echo 1 > \/sys\/class\/block\/sdb\/device\/rescan\)/,
    ],
    [
      'a volume from a snapshot, whose disk is not smaller than the snapshot',
      { bytes: 20n * gib, content: 'ext4', asked: { ...later, isCopy: true } },
      kept,
    ],
    [
      'an imported disk with a size of its own',
      { bytes: 7n * gib, content: 'xfs', asked: { ...later, isCopy: true, sizeBytes: 7n * gib } },
      'mount xfs_growfs',
    ],
    [
      'a ReadOnlyMany volume from a snapshot',
      { bytes: recorded, content: 'ext4', asked: { ...later, readOnly: true } },
      'mount',
    ],
    [
      'a blank ReadOnlyMany volume',
      { bytes: recorded, content: 'blank', asked: { readOnly: true } },
      /^InvalidParameters: nothing is on this volume/,
    ],
    [
      'a caller that does not know the size, such as the growth of a mounted volume',
      { bytes: 9n * gib, content: 'ext4', asked: { ...later, sizeBytes: undefined as never } },
      kept,
    ],
    [
      'a driver that does not promise the size, at a first mount',
      { bytes: 9n * gib, content: 'blank', exactSize: false },
      made,
    ],
    [
      'a driver that does not promise the size, at a later mount',
      { bytes: 9n * gib, content: 'ext4', exactSize: false, asked: later },
      kept,
    ],
  ];
  for (const [what, situation, expected] of rows)
    it(`is checked: ${what}`, async () => {
      const found = await mounting(situation);
      if (typeof expected === 'string') expect(found).to.equal(expected);
      else expect(found).to.match(expected);
    });

  for (const content of ['ext4', 'xfs'] as const)
    it(`is checked at the growth of a mounted volume: it is pending until the node has noticed that the device grew, ${content}`, async () => {
      const grow = content === 'ext4' ? 'resize2fs' : 'xfs_growfs';
      const mounted = { content, isMounted: true, asked: later } as const;
      expect(await mounting({ ...mounted, bytes: gib })).to.equal('pending');
      expect(await mounting({ ...mounted, bytes: recorded })).to.equal(`${grow} grown`);
      const unknown = { ...mounted, bytes: gib, exactSize: false };
      expect(await mounting(unknown)).to.equal(`${grow} grown`);
    });

  for (const [device, remedy] of [
    ['/dev/sdb', '(echo 1 > /sys/class/block/sdb/device/rescan)'],
    ['/dev/nvme1n1', '(echo 1 | tee /sys/class/nvme/nvme*/rescan_controller)'],
    ['/dev/loop7', '(losetup --set-capacity /dev/loop7)'],
    ['/dev/vdb', 'the kernel reads the size of a virtio or Xen disk itself'],
    ['/dev/xvdf', 'the kernel reads the size of a virtio or Xen disk itself'],
    ['/dev/dm-3', 'so that it is detached, and start them again'],
  ] as const)
    it(`is read again by the means of the kind of the device: ${device}`, async () => {
      const asked = { ...later, devicePath: device };
      const refused = await mounting({ bytes: gib, content: 'ext4', asked });
      expect(refused).to.contain(remedy);
      expect(refused.includes('rescan')).to.equal(/sdb|nvme/.test(device));
    });
});
