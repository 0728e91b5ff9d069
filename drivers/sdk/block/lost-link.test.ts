import { expect } from 'chai';
import { createBlockDriver } from './block-driver.js';
import { DriverError } from '../errors/errors.js';
import { memoryOperations } from '../contract/operations.js';
import type { Driver } from '../contract/driver.js';
import { parseMountTable } from '../node/mount-table.js';
import type { NodeHost } from '../node/node-host.js';
import { nodeHost, thisNode } from '../node/this-node.js';

const target = '/data/kedge/mounts/v';
const rootOf = (id: number, optional: string): string =>
  `${id} 1 8:1 / / rw ${optional} - ext4 x rw`;
/** A mount of the volume. */
const mountOf = (id: number, parent: number, optional: string, at = target): string =>
  `${id} ${parent} 8:0 / ${at} rw ${optional} - ext4 /dev/sda rw`;
const here = [rootOf(20, 'shared:1'), mountOf(30, 20, 'shared:4')];

/** A node with a mounted volume whose link is lost. */
class LostLink {
  readonly done: string[] = [];
  /** The mount tables of the mount namespaces, this one first. */
  tables: readonly (readonly string[])[];
  /** The number of the device that has the name of the mounted one, or the code of the error. */
  number = '8:0';
  /** Whether a mount namespace without a process has it mounted. */
  isHidden = false;
  isBusy = false;
  link: string | undefined;
  driver: Driver;
  readonly #ending: readonly number[];

  /** @param ending the numbers of the mounts of other namespaces that the kernel unmounts with that of this one */
  constructor(others: readonly (readonly string[])[] = [], ending: readonly number[] = []) {
    this.tables = [here, ...others];
    this.#ending = ending;
    this.driver = this.#made();
  }

  restart(): void {
    this.driver = this.#made();
  }

  #umount(): void {
    const isEnded = (line: string): boolean => {
      const id = Number.parseInt(line, 10);
      return [30, 31, ...this.#ending].includes(id);
    };
    this.tables = this.tables.map((table) => table.filter((line) => !isEnded(line)));
  }

  #views() {
    return this.tables.map((table, index) => ({
      pid: index === 0 ? process.pid : 4_000_000 + index,
      namespace: `mnt:[${index}]`,
      mounts: parseMountTable(table.join('\n')),
    }));
  }

  get #host(): NodeHost {
    const views = () => this.#views();
    const mounted = () =>
      views().flatMap(({ pid, mounts }, index) =>
        mounts
          .filter(({ device }) => device === '8:0')
          .map(({ target: at }) => ({ pid, target: at, here: index === 0 })),
      );
    return {
      ...nodeHost((command) => {
        this.done.push(command);
        if (this.isBusy) return Promise.resolve({ exitCode: 32, stdout: '', stderr: 'is busy' });
        if (command === 'umount') this.#umount();
        return Promise.resolve({ exitCode: 0, stdout: '', stderr: '' });
      }),
      mounts: () => Promise.resolve(views()[0]?.mounts ?? []),
      processMounts: async function* () {
        yield* await Promise.resolve(views());
      },
      deviceNumber: () =>
        this.number.includes(':')
          ? Promise.resolve(this.number)
          : Promise.reject(Object.assign(new Error(this.number), { code: this.number })),
      hasFileSystem: () => Promise.resolve(this.isHidden || mounted().length > 0),
      holders: {
        holders: () =>
          Promise.resolve(
            mounted().map((one) => ({ type: 'mount', command: '', ...one }) as const),
          ),
      },
      pause: () => Promise.resolve(),
      files: {
        ...thisNode.files,
        realPath: (path) => Promise.resolve(path.replace('/var/lib/kedge', '/data/kedge')),
        kindAt: () => Promise.resolve('directory'),
        removeFolder: () => {
          this.done.push('rmdir');
          return Promise.resolve();
        },
      },
    };
  }

  #made(): Driver {
    const unused = (): never => {
      throw new Error('not called by a release');
    };
    return createBlockDriver(
      {
        ...{ name: 'cloud', parameters: [], create: unused, observe: unused, delete: unused },
        attach: async ({ isMounted }) => {
          this.done.push((await isMounted()) ? 'mounted' : 'unmounted');
          return { devicePath: '/dev/link' };
        },
        detach: () => {
          this.done.push('detach');
          return Promise.resolve();
        },
        devicePath: () => Promise.resolve(this.link),
      },
      { host: this.#host },
    );
  }

  /** Attaches the volume like a node; returns what the driver's attach receives about the mounted device. */
  async attach(at?: string): Promise<string | undefined> {
    const { signal } = new AbortController();
    const volume = { uid: 'v', name: 'v', namespace: 'shop' };
    const operations = memoryOperations();
    const call = { ...{ volume, parameters: {}, node: 'here', handle: 'h' }, signal, operations };
    await this.driver.attach({ ...call, ...(at === undefined ? {} : { target: at }) });
    return this.done.at(-1);
  }

  /** Releases the volume like a node: the error of the first call that failed, or undefined. */
  async release(at = target): Promise<unknown> {
    const { signal } = new AbortController();
    const volume = { uid: 'v', name: 'v', namespace: 'shop' };
    const operations = memoryOperations();
    const call = { ...{ volume, parameters: {}, node: 'here', handle: 'h' }, signal, operations };
    try {
      await this.driver.unmount({ ...call, target: at });
      await this.driver.detach(call);
      return undefined;
    } catch (error) {
      return error;
    }
  }
}

async function expectRefused(node: LostLink, words: string, at = target): Promise<void> {
  const error = await node.release(at);
  expect(error, String(error)).to.be.instanceOf(DriverError);
  expect(error).to.include({ kind: 'InUse' });
  expect(String(error)).to.contain(words);
}

const released = ['umount', 'rmdir', 'detach'];
const slave = [rootOf(120, 'master:1'), mountOf(130, 120, 'master:4')];
const apart = [rootOf(120, ''), mountOf(130, 120, '')];

describe('the release of a volume whose link is lost', () => {
  const passed: Record<string, LostLink> = {
    'only this namespace has it mounted': new LostLink(),
    'a slave of this namespace has it, such as a service of systemd': new LostLink([slave], [130]),
    'a peer of this namespace has it': new LostLink(
      [[rootOf(120, 'shared:1'), mountOf(130, 120, 'shared:4')]],
      [130],
    ),
    'a slave of a slave has it': new LostLink(
      [
        [rootOf(120, 'shared:9 master:1'), mountOf(130, 120, 'shared:10 master:4')],
        [rootOf(220, 'master:9'), mountOf(230, 220, 'master:10')],
      ],
      [130, 230],
    ),
    'a slave has it whose own mount was made private': new LostLink(
      [[rootOf(120, 'master:1'), mountOf(130, 120, '')]],
      [130],
    ),
    'a container has the directory of the host as a slave': new LostLink(
      [
        [
          rootOf(110, ''),
          '120 110 8:1 / /host rw master:1 - ext4 x rw',
          mountOf(130, 120, 'master:4', `/host${target}`),
        ],
      ],
      [130],
    ),
  };
  for (const [what, node] of Object.entries(passed))
    it(`ends if ${what}`, async () => {
      expect(await node.release()).to.equal(undefined);
      expect(node.done).to.deep.equal(released);
    });

  it('ends if a slave has several stacked mounts of it', async () => {
    const node = new LostLink([[...slave, mountOf(131, 130, 'master:5')]], [130, 131]);
    node.tables = [[...here, mountOf(31, 30, 'shared:5')], ...node.tables.slice(1)];
    expect(await node.release()).to.equal(undefined);
  });

  const refused: Record<string, readonly string[]> = {
    'another namespace has it apart from this one': apart,
    'a slave has it in another place too': [...slave, mountOf(131, 120, 'master:4', '/mnt/v')],
    'a container has it as its own slave': [rootOf(120, ''), mountOf(130, 120, 'master:4', '/d')],
    'a slave has another mount on it': [...slave, '140 130 0:9 / /x rw - tmpfs t rw'],
  };
  for (const [what, table] of Object.entries(refused))
    it(`waits while ${what}, and unmounts nothing before, also when it is repeated or restarted`, async () => {
      const node = new LostLink([table], [130]);
      for (const attempt of ['first', 'second', 'restarted']) {
        if (attempt === 'restarted') node.restart();
        await expectRefused(node, 'held by pid 4000001 ()');
        expect(node.done, attempt).to.deep.equal([]);
      }
      node.tables = [here];
      expect(await node.release()).to.equal(undefined);
      expect(node.done).to.deep.equal(released);
    });

  it('waits while this namespace has it mounted in another place, which its unmount does not end', async () => {
    const node = new LostLink();
    node.tables = [[...here, mountOf(32, 20, 'shared:4', '/mnt/v')]];
    await expectRefused(node, 'held by a mount at /mnt/v');
    expect(node.done).to.deep.equal([]);
  });

  it('waits if a link is in the path of the target', async () => {
    const node = new LostLink([apart]);
    await expectRefused(node, 'held by pid 4000001', '/var/lib/kedge/mounts/v');
    expect(node.done).to.deep.equal([]);
  });

  it('detaches nothing if the unmount fails', async () => {
    const node = new LostLink([slave]);
    node.isBusy = true;
    await expectRefused(node, 'is busy');
    expect(node.done).to.deep.equal(['umount']);
  });

  it('waits after the unmount while the device is in use in a namespace that is not visible', async () => {
    const node = new LostLink();
    node.isHidden = true;
    for (const attempt of ['first', 'second']) {
      await expectRefused(node, '/dev/sda is in use');
      expect(node.done, attempt).to.deep.equal(['umount']);
    }
    node.isHidden = false;
    expect(await node.release()).to.equal(undefined);
    expect(node.done).to.deep.equal(released);
  });

  it('waits, also after a restart, for a namespace that was copied just before the unmount', async () => {
    const node = new LostLink([apart]);
    node.tables = [[rootOf(20, 'shared:1')], apart];
    await expectRefused(node, 'held by pid 4000001');
    node.restart();
    await expectRefused(node, 'held by pid 4000001');
    expect(node.done).to.deep.equal([]);
    node.number = 'ENOENT';
    expect(await node.release()).to.equal(undefined);
  });

  it('removes the record of the device once it was released with its link', async () => {
    const node = new LostLink();
    node.isHidden = true;
    await expectRefused(node, '/dev/sda is in use');
    [node.isHidden, node.link] = [false, '/dev/sda'];
    expect(await node.release()).to.equal(undefined);
    [node.isHidden, node.link] = [true, undefined];
    expect(await node.release()).to.equal(undefined);
  });

  it('ends if the device is gone, or its name belongs to another one by now', async () => {
    for (const number of ['ENOENT', '8:16']) {
      const node = new LostLink([apart]);
      node.number = number;
      expect(await node.release(), number).to.equal(undefined);
    }
  });

  it('detaches nothing if the device can not be identified', async () => {
    const node = new LostLink([apart]);
    node.number = 'EACCES';
    expect(String(await node.release())).to.contain('EACCES');
    expect(node.done).to.deep.equal([]);
  });
});

describe('the attach of a volume whose link is lost', () => {
  it('passes on that it is mounted, also through a link in the path or by another namespace', async () => {
    const node = new LostLink([apart]);
    expect(await node.attach(target)).to.equal('mounted');
    expect(await node.attach('/var/lib/kedge/mounts/v')).to.equal('mounted');
    node.tables = [[rootOf(20, 'shared:1')], apart];
    expect(await node.attach(target)).to.equal('mounted');
    node.tables = [[rootOf(20, 'shared:1')]];
    expect(await node.attach(target)).to.equal('unmounted');
  });

  it('passes on that a device is in use that was unmounted and not observed as unused since', async () => {
    const node = new LostLink();
    node.isHidden = true;
    await expectRefused(node, '/dev/sda is in use');
    expect(await node.attach(target)).to.equal('mounted');
  });

  it('passes on that nothing is mounted if the device does not exist, or the target is not known', async () => {
    const node = new LostLink();
    expect(await node.attach(undefined)).to.equal('unmounted');
    node.number = 'ENOENT';
    expect(await node.attach(target)).to.equal('unmounted');
  });
});
