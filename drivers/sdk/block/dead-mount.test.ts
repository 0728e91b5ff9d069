import { expect } from 'chai';
import { mountBlockDevice } from './block-mount.js';
import { unmountTarget } from './block-unmount.js';
import type { MountRequest } from '../contract/driver.js';
import { memoryOperations } from '../contract/operations.js';
import { DriverError } from '../errors/errors.js';
import { parseMountTable } from '../node/mount-table.js';
import type { NodeHost } from '../node/node-host.js';
import { nodeHost, thisNode } from '../node/this-node.js';

const target = '/m/v';
const { signal } = new AbortController();

/** A node whose volume was detached while it was mounted, and attached again: it is another device now, /dev/sdb. */
class Reattached {
  readonly done: string[] = [];
  /** The numbers of the devices that the node has. */
  numbers: Readonly<Record<string, string>> = { '/dev/sdb': '8:16' };
  table = [`30 20 8:0 / ${target} rw - ext4 /dev/sda rw`];

  get #host(): NodeHost {
    return {
      ...nodeHost((command, args) => {
        if (['mount', 'umount'].includes(command)) this.done.push(command);
        if (command === 'umount') this.table = this.table.slice(0, -1);
        const isSize = args.includes('--getsize64');
        const stdout = isSize ? '4096\n' : command === 'blkid' ? 'TYPE=xfs\n' : '';
        return Promise.resolve({ exitCode: 0, stdout, stderr: '' });
      }),
      mounts: () => Promise.resolve(parseMountTable(this.table.join('\n'))),
      deviceNumber: (device) => {
        const number = this.numbers[device];
        return number === undefined
          ? Promise.reject(Object.assign(new Error('ENOENT'), { code: 'ENOENT' }))
          : Promise.resolve(number);
      },
      hasFileSystem: () => Promise.resolve(false),
      holders: { holders: () => Promise.resolve([]) },
      files: {
        ...thisNode.files,
        realPath: (path) => Promise.resolve(path),
        kindAt: (path) => Promise.resolve(path.startsWith('/dev/') ? 'blockDevice' : 'directory'),
        makeFolder: () => Promise.resolve(),
        removeFolder: () => Promise.resolve(),
        startsAndEndsBlank: () => Promise.resolve(false),
      },
    };
  }

  mount(): Promise<string> {
    const request: MountRequest = {
      ...{ volume: { uid: 'v', name: 'v', namespace: 'shop' }, handle: 'v', parameters: {} },
      ...{ node: 'n', signal, operations: memoryOperations(), devicePath: '/dev/sdb', target },
      ...{ readOnly: false, mayFormat: false },
    };
    return this.#outcome(mountBlockDevice(request, { host: this.#host }));
  }

  unmount(): Promise<string> {
    return this.#outcome(unmountTarget(target, signal, this.#host, '/dev/sdb'));
  }

  async #outcome(work: Promise<unknown>): Promise<string> {
    const thrown = await work.then(
      () => undefined,
      (error: unknown) => DriverError.from(error),
    );
    return [...this.done, ...(thrown ? [`${thrown.kind}: ${thrown.message}`] : [])].join(' ');
  }
}

describe('the mount of a device that the node has no more', () => {
  it('ends when the volume is mounted again, and when it is unmounted', async () => {
    expect(await new Reattached().mount()).to.equal('umount mount');
    expect(await new Reattached().unmount()).to.equal('umount');
  });

  it('ends also if its name belongs to another device by now, and if several are stacked', async () => {
    const renamed = new Reattached();
    renamed.numbers = { ...renamed.numbers, '/dev/sda': '8:32' };
    expect(await renamed.mount()).to.equal('umount mount');
    const stacked = new Reattached();
    stacked.table = [...stacked.table, `31 30 8:48 / ${target} rw - ext4 /dev/sdd rw`];
    expect(await stacked.mount()).to.equal('umount umount mount');
  });

  const kept: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
    'a device that the node has': [
      `30 20 8:0 / ${target} rw - ext4 /dev/sda rw`,
      { '/dev/sda': '8:0' },
    ],
    'a file system without a device': [`30 20 0:9 / ${target} rw - tmpfs tmpfs rw`, {}],
    'a btrfs, whose number is not that of its device': [
      `30 20 0:45 / ${target} rw - btrfs /dev/sdc rw`,
      { '/dev/sdc': '8:32' },
    ],
    'a directory of the root file system': [`30 20 8:1 /srv ${target} rw - ext4 /dev/root rw`, {}],
  };
  for (const [what, [line, numbers]] of Object.entries(kept))
    it(`is not that of ${what}: it stays, and is named`, async () => {
      for (const call of ['mount', 'unmount'] as const) {
        const node = new Reattached();
        node.table = [line];
        node.numbers = { ...node.numbers, ...numbers };
        expect(await node[call]()).to.match(/^InUse: .* is mounted at \/m\/v, not \/dev\/sdb/);
      }
    });
});
