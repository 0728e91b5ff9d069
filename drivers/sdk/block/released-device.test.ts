import { expect } from 'chai';
import { createBlockDriver } from './block-driver.js';
import { DriverError } from '../errors/errors.js';
import { memoryOperations } from '../contract/operations.js';
import type { Holder } from '../node/holders.js';
import type { MountEntry } from '../node/mount-table.js';
import type { NodeHost } from '../node/node-host.js';
import { nodeHost, thisNode } from '../node/this-node.js';

const target = '/mounts/v';
const elsewhere: Holder = {
  type: 'mount',
  pid: 7,
  command: 'backup',
  target: '/mnt/v',
  here: false,
};

/** A node with a mounted volume whose link is lost. */
class LostLink {
  readonly done: string[] = [];
  holders: readonly Holder[] = [];
  /** The number of the device that has the name of the mounted one. */
  number = '8:0';
  #mounted = true;

  get #host(): NodeHost {
    const entry = { target, source: '/dev/sda', device: '8:0', fsType: 'ext4', readOnly: false };
    return {
      ...nodeHost((command) => {
        this.done.push(command);
        if (command === 'umount') this.#mounted = false;
        return Promise.resolve({ exitCode: 0, stdout: '', stderr: '' });
      }),
      mounts: () => Promise.resolve(this.#mounted ? [entry as unknown as MountEntry] : []),
      deviceNumber: () => Promise.resolve(this.number),
      holders: { holders: () => Promise.resolve(this.holders) },
      pause: () => Promise.resolve(),
      files: {
        ...thisNode.files,
        realPath: (path) => Promise.resolve(path),
        kindAt: () => Promise.resolve('directory'),
        removeFolder: () => Promise.resolve(),
      },
    };
  }

  /** Releases the volume like a node: the error of the first call that failed, or undefined. */
  async release(): Promise<unknown> {
    const unused = (): never => {
      throw new Error('not called by a release');
    };
    const driver = createBlockDriver(
      {
        ...{ name: 'cloud', parameters: [], create: unused, observe: unused, delete: unused },
        attach: unused,
        detach: () => {
          this.done.push('detach');
          return Promise.resolve();
        },
        devicePath: () => Promise.resolve(undefined),
      },
      { host: this.#host },
    );
    const { signal } = new AbortController();
    const volume = { uid: 'v', name: 'v', namespace: 'shop' };
    const operations = memoryOperations();
    const call = { ...{ volume, parameters: {}, node: 'here', handle: 'h' }, signal, operations };
    try {
      await driver.unmount({ ...call, target });
      await driver.detach(call);
      return undefined;
    } catch (error) {
      return error;
    }
  }
}

describe('the release of a volume whose link is lost', () => {
  it('waits while another mount namespace has the volume mounted, also when it is repeated', async () => {
    const node = new LostLink();
    node.holders = [elsewhere];
    for (const attempt of ['first', 'second']) {
      const error = await node.release();
      expect(error, attempt).to.be.instanceOf(DriverError);
      expect(error).to.include({ kind: 'InUse' });
      expect(String(error)).to.contain('held by pid 7 (backup)');
      expect(node.done, attempt).to.deep.equal([]);
    }
    node.holders = [];
    expect(await node.release()).to.equal(undefined);
    expect(node.done).to.deep.equal(['umount', 'detach']);
  });

  it('ends while only this namespace has it mounted', async () => {
    const node = new LostLink();
    node.holders = [{ ...elsewhere, here: true }];
    expect(await node.release()).to.equal(undefined);
    expect(node.done).to.deep.equal(['umount', 'detach']);
  });

  it('ends if the name of the mounted device belongs to another one by now', async () => {
    const node = new LostLink();
    node.holders = [elsewhere];
    node.number = '8:16';
    expect(await node.release()).to.equal(undefined);
  });
});
