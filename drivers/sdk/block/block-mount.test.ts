import { expect } from 'chai';
import { type BlockMountOptions, mountBlockDevice } from './block-mount.js';
import type { MountRequest } from '../contract/driver.js';
import { DriverError } from '../errors/errors.js';
import type { NodeHost } from '../node/node-host.js';
import type { CommandResult } from '../node/run-command.js';
import { nodeHost, thisNode } from '../node/this-node.js';

/** Records the mount and resize commands for a device whose ext4 file system is smaller than the device. */
class SmallFileSystem {
  readonly done: string[] = [];
  readonly #mayGrowMounted: boolean;
  #mounted = false;

  constructor(mayGrowMounted: boolean) {
    this.#mayGrowMounted = mayGrowMounted;
  }

  run = (command: string, args: readonly string[]): Promise<CommandResult> => {
    const result = this.#answer(command, args.includes('--getsize64'));
    if (['mount', 'umount', 'resize2fs'].includes(command))
      this.done.push(`${command}${result.exitCode === 0 ? '' : ' refused'}`);
    return Promise.resolve(result);
  };

  #answer(command: string, isSize: boolean): CommandResult {
    const resultOf = (stdout: string): CommandResult => ({ exitCode: 0, stdout, stderr: '' });
    if (isSize) return resultOf('2097152\n');
    if (command === 'blkid') return resultOf('TYPE=ext4\n');
    if (command === 'dumpe2fs') return resultOf('Block count:   256\nBlock size:   4096\n');
    if (command === 'resize2fs' && this.#mounted && !this.#mayGrowMounted)
      return { exitCode: 1, stdout: '', stderr: 'Permission denied to resize filesystem' };
    if (command === 'mount') this.#mounted = true;
    if (command === 'umount') this.#mounted = false;
    return resultOf('');
  }

  async mount(
    over: Partial<NodeHost> = {},
    target = '/mounted',
    asked: Partial<MountRequest> = {},
    options: BlockMountOptions = {},
  ): Promise<void> {
    const host = {
      ...nodeHost(this.run),
      mounts: () => Promise.resolve([]),
      files: {
        ...thisNode.files,
        realPath: (path: string) => Promise.resolve(path),
        kindAt: (path: string) =>
          Promise.resolve(path === '/dev/v' ? ('blockDevice' as const) : ('absent' as const)),
        makeFolder: () => Promise.resolve(),
        removeFolder: () => Promise.resolve(),
        startsAndEndsBlank: () => Promise.resolve(false),
      },
      ...over,
    };
    const { signal } = new AbortController();
    const volume = { uid: 'v', name: 'v', namespace: 'default' };
    await mountBlockDevice(
      {
        volume,
        handle: 'v',
        parameters: {},
        node: 'n',
        signal,
        devicePath: '/dev/v',
        target,
        readOnly: false,
        mayFormat: false,
        ...asked,
      } as never,
      { host, ...options },
    );
  }
}

describe('the mount of a file system that is smaller than its device', () => {
  it('grows ext4 online, which a kill does not damage', async () => {
    const device = new SmallFileSystem(true);
    await device.mount();
    expect(device.done).to.deep.equal(['mount', 'resize2fs']);
  });

  it('grows ext4 offline if the kernel refuses online growth', async () => {
    const device = new SmallFileSystem(false);
    await device.mount();
    const grown = ['mount', 'resize2fs refused', 'umount', 'resize2fs', 'mount'];
    expect(device.done).to.deep.equal(grown);
  });
});

describe('the mount of a device to which a wrong link leads', () => {
  const mount = {
    ...{ device: '7:1', root: '/', readOnly: false, fsType: 'xfs', source: '/dev/v' },
    target: '/staging/other',
  };
  const numbered = { deviceNumber: () => Promise.resolve('7:1') };

  it('is refused while another volume has the device mounted: two volumes would have the same data', async () => {
    const device = new SmallFileSystem(true);
    const beside = { ...numbered, mounts: () => Promise.resolve([mount]) };
    const refused = await device.mount(beside, '/staging/own').catch((error: unknown) => error);
    expect(refused).to.include({ kind: 'InUse' });
    expect(String(refused)).to.contain('/dev/v is mounted at /staging/other for another volume');
    expect(device.done).to.deep.equal([]);
  });

  it('is refused for a new volume wherever the device is mounted, except for its own bind mounts', async () => {
    const [elsewhere, bound] = ['/home', '/staging/binds/own/shop+web-0/data'].map((target) => ({
      ...numbered,
      mounts: () => Promise.resolve([{ ...mount, target }]),
    }));
    const device = new SmallFileSystem(true);
    const refused = await device
      .mount(elsewhere, '/staging/own', { mayFormat: true })
      .catch((error: unknown) => error);
    expect(refused).to.include({ kind: 'InUse' });
    expect(String(refused)).to.contain('/dev/v is mounted at /home, and this volume is new');
    expect(device.done).to.deep.equal([]);
    await device.mount(bound, '/staging/own', { mayFormat: true });
    expect(device.done).to.include('mount');
  });

  const besides = (one: object) => ({ ...numbered, mounts: () => Promise.resolve([one]) }) as never;
  const inspected = { ...mount, target: '/mnt/inspected' };

  it('is refused later while the device is mounted writable elsewhere, if only its link names it', async () => {
    for (const options of [{}, { hasSerial: () => Promise.resolve(false) }]) {
      const device = new SmallFileSystem(true);
      const refused: unknown = await device
        .mount(besides(inspected), '/staging/own', {}, options)
        .catch((error: unknown) => error);
      expect(refused).to.include({ kind: 'InUse' });
      expect(String(refused))
        .to.contain('/dev/v is mounted at /mnt/inspected')
        .and.contain('unmount it there (umount /mnt/inspected)');
      expect(device.done).to.deep.equal([]);
    }
  });

  it('is refused later while the machine has the device mounted elsewhere, beside the mount namespace of kedged', async () => {
    const inNamespaceOf = (pid: number, at: string) =>
      ({
        ...{ ...numbered, hasFileSystem: () => Promise.resolve(true) },
        pause: () => Promise.resolve(),
        holders: {
          holders: () =>
            Promise.resolve([{ type: 'mount', pid, command: 'c', target: at, here: false }]),
        },
      }) as never;
    const mounted = async (host: never, options = {}): Promise<string> => {
      const device = new SmallFileSystem(true);
      return device.mount(host, '/staging/own', {}, options).then(() => 'mounted', String);
    };
    expect(await mounted(inNamespaceOf(1, '/mnt/inspected'))).to.contain(
      '/dev/v is mounted for another volume or user, held by pid 1 (c)',
    );
    const withSerial = { hasSerial: () => Promise.resolve(true) };
    expect(await mounted(inNamespaceOf(1, '/mnt/inspected'), withSerial)).to.equal('mounted');
    // A copy of the own mount, and a container that ends with a volume.
    expect(await mounted(inNamespaceOf(1, '/staging/own'))).to.equal('mounted');
    expect(await mounted(inNamespaceOf(42, '/data'))).to.equal('mounted');
  });

  it('is not refused later for a device that its serial names, for a read-only mount of it elsewhere, or for another device', async () => {
    for (const [one, options] of [
      [inspected, { hasSerial: () => Promise.resolve(true) }],
      [{ ...inspected, readOnly: true }, {}],
      [{ ...mount, device: '7:2' }, {}],
      [{ ...inspected, device: '7:2' }, {}],
    ] as const) {
      const device = new SmallFileSystem(true);
      await device.mount(besides(one), '/staging/own', {}, options);
      expect(device.done).to.include('mount');
    }
  });
});

/** The refusal to mount a blank device. */
async function refusalOfBlank(
  device: SmallFileSystem,
  options: Parameters<SmallFileSystem['mount']>[2],
): Promise<DriverError> {
  const blank = (command: string, args: readonly string[]): Promise<CommandResult> =>
    command === 'blkid'
      ? Promise.resolve({ exitCode: 2, stdout: '', stderr: '' })
      : device.run(command, args);
  const files = {
    ...thisNode.files,
    realPath: (path: string) => Promise.resolve(path),
    kindAt: () => Promise.resolve('blockDevice' as const),
    makeFolder: () => Promise.resolve(),
    startsAndEndsBlank: () => Promise.resolve(true),
  };
  const error: unknown = await device
    .mount({ run: blank, files }, '/mounted', options)
    .catch((thrown: unknown) => thrown);
  expect(error).to.be.instanceOf(DriverError);
  return error as DriverError;
}

describe('the first mount of a ReadOnlyMany volume', () => {
  it('formats nothing if the device is blank, and the error names a volume from a snapshot as the remedy', async () => {
    const device = new SmallFileSystem(true);
    const error = await refusalOfBlank(device, { readOnly: true, mayFormat: true });
    expect(error.kind).to.equal('InvalidParameters');
    expect(error.message).to.contain('nothing is on this volume').and.contain('source.snapshot');
    expect(device.done).to.deep.equal([]);
  });
});

describe('the first mount of an imported or restored volume', () => {
  it('formats nothing if the device is blank, and the error has the remedy for a volume that never had data', async () => {
    const device = new SmallFileSystem(true);
    const { message } = await refusalOfBlank(device, { mayFormat: false, isCopy: true });
    expect(message).to.contain('restored or imported').and.contain('create another one');
    expect(device.done).to.deep.equal([]);
  });
});

describe('a later mount of a volume', () => {
  it('formats nothing if the device is blank, and does not advise to delete it: it had data', async () => {
    const device = new SmallFileSystem(true);
    for (const readOnly of [false, true]) {
      const { message } = await refusalOfBlank(device, { mayFormat: false, readOnly });
      expect(message).to.contain('was formatted before').and.contain('its data is lost');
      for (const words of ['delete', 'restored', 'imported', 'nothing'])
        expect(message).to.not.contain(words);
    }
    expect(device.done).to.deep.equal([]);
  });
});
