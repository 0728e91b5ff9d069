import { expect } from 'chai';
import { type BlockProvider, createBlockDriver } from './block-driver.js';
import type { AccessMode } from '../contract/driver.js';
import { isPending, memoryOperations } from '../contract/operations.js';
import { DriverError } from '../errors/errors.js';
import { parseMountTable } from '../node/mount-table.js';
import type { NodeHost } from '../node/node-host.js';
import { nodeHost, thisNode } from '../node/this-node.js';

const target = '/data/kedge/mounts/v';
const table = parseMountTable(`30 20 8:0 / ${target} ro - ext4 /dev/sda ro`);

interface CallOptions {
  /** The name of the node. */
  readonly node?: string;
  readonly accessMode?: AccessMode;
  /** The machines of the provider, by the names of nodes. */
  readonly machines?: Readonly<Record<string, string>>;
}

/** A node that has a volume attached, and its calls of the provider. */
class Attached {
  readonly calls: string[] = [];
  readonly operations = memoryOperations();
  isMounted = true;
  isLeaving = false;
  /** The error of each attach. */
  refusal: DriverError['kind'] | undefined;

  get #host(): NodeHost {
    const mounts = () => (this.isMounted ? table : []);
    const mount = { type: 'mount', pid: 1, command: '', target, here: true } as const;
    return {
      ...nodeHost(() => Promise.resolve({ exitCode: 0, stdout: '', stderr: '' })),
      mounts: () => Promise.resolve(mounts()),
      processMounts: async function* () {
        yield await Promise.resolve({ pid: 1, namespace: 'mnt:[1]', mounts: mounts() });
      },
      deviceNumber: () => Promise.resolve('8:0'),
      hasFileSystem: () => Promise.resolve(this.isMounted),
      holders: { holders: () => Promise.resolve(this.isMounted ? [mount] : []) },
      pause: () => Promise.resolve(),
      files: {
        ...thisNode.files,
        realPath: (path) => Promise.resolve(path),
        kindAt: () => Promise.resolve('directory'),
      },
    };
  }

  #driver(node: string | undefined, machines: Readonly<Record<string, string>>) {
    const unused = (): never => {
      throw new Error('not called');
    };
    const provider: BlockProvider = {
      ...{ name: 'cloud', parameters: [], create: unused, observe: unused, delete: unused },
      instances: {
        lookups: [
          { by: 'name', find: (asked) => Promise.resolve([machines[asked.node] ?? []].flat()) },
        ],
        place: () => 'the cloud',
      },
      attach: () => {
        this.calls.push('attach');
        if (this.refusal) return Promise.reject(new DriverError(this.refusal, 'no'));
        return Promise.resolve({ devicePath: '/dev/link' });
      },
      detach: async ({ instance, operations }) => {
        this.calls.push(`detach ${instance ?? ''}`.trim());
        if (this.isLeaving) return { type: 'pending', pollAfterMs: 1_000 };
        await operations.clear('detach');
        return undefined;
      },
      devicePath: () => Promise.resolve('/dev/sda'),
    };
    return createBlockDriver(provider, { host: this.#host, node });
  }

  call(
    call: 'attach' | 'detach',
    on: string,
    {
      node = 'here',
      accessMode = 'ReadOnlyMany',
      machines = { here: 'i-1', there: 'i-2' },
    }: CallOptions = {},
  ): Promise<unknown> {
    const volume = { uid: 'v', name: 'v', namespace: 'shop', accessMode };
    const { signal } = new AbortController();
    const { operations } = this;
    const request = { volume, parameters: {}, node: on, handle: 'h', signal, operations, target };
    return this.#driver(node, machines)[call](request);
  }
}

describe('the detach of a volume from another node, while this one has it mounted', () => {
  it('is not blocked by this node, if several nodes may have the volume', async () => {
    const one = new Attached();
    await one.call('detach', 'there');
    // The machine of the node does not exist any more.
    await one.call('detach', 'gone');
    expect(one.calls).to.deep.equal(['detach i-2', 'detach']);
  });

  for (const [what, on, options] of [
    ['from this node', 'here', {}],
    ['of this machine under a former name', 'former', { machines: { here: 'i', former: 'i' } }],
    ['if the machine of this node is not known', 'there', { machines: { there: 'i-2' } }],
    ['if only one node may have the volume', 'there', { accessMode: 'ReadWriteOnce' }],
  ] as const)
    it(`is refused ${what}`, async () => {
      const one = new Attached();
      const refused = await one.call('detach', on, options).catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(DriverError).and.include({ kind: 'InUse' });
      expect(one.calls).to.deep.equal([]);
    });
});

describe('the attach or detach of a volume after the opposite call got no answer', () => {
  it('waits for the end of the detach, which the provider may still execute', async () => {
    const one = new Attached();
    [one.isMounted, one.isLeaving] = [false, true];
    await one.operations.set('detach', 'key');
    expect(isPending(await one.call('attach', 'here'))).to.equal(true);
    expect(one.calls).to.deep.equal(['detach i-1']);
    one.isLeaving = false;
    expect(await one.call('attach', 'here')).to.deep.equal({ devicePath: '/dev/link' });
    expect(one.calls).to.deep.equal(['detach i-1', 'detach i-1', 'attach']);
  });

  it('of which the answer was lost is repeated before a detach, unless the provider refuses it', async () => {
    for (const refusal of [undefined, 'QuotaExceeded', 'Unavailable'] as const) {
      const one = new Attached();
      one.isMounted = false;
      one.refusal = refusal;
      await one.operations.set('attach', 'key');
      await one.call('detach', 'here');
      expect(one.calls, refusal).to.deep.equal(['attach', 'detach i-1']);
    }
    const one = new Attached();
    [one.isMounted, one.refusal] = [false, 'Timeout'];
    await one.operations.set('attach', 'key');
    const refused: unknown = await one.call('detach', 'here').catch((error: unknown) => error);
    expect(refused).to.include({ kind: 'Timeout' });
    expect(one.calls).to.deep.equal(['attach']);
  });

  it('detaches nothing that is mounted, and nothing without a detach that has no answer', async () => {
    for (const [isMounted, kept] of [
      [true, 'key'],
      [false, 'key with-an-id'],
      [false, undefined],
    ] as const) {
      const one = new Attached();
      one.isMounted = isMounted;
      if (kept !== undefined) await one.operations.set('detach', kept);
      await one.call('attach', 'here');
      expect(one.calls, kept).to.deep.equal(['attach']);
    }
  });
});
