import { expect } from 'chai';
import { createBlockDriver } from './block-driver.js';
import { waitForDevice } from './block-device.js';
import { mountBlockDevice } from './block-mount.js';
import { unmountTarget } from './block-unmount.js';
import { LostLinks } from './lost-link.js';
import { requireUnused } from './released-device.js';
import type { MountRequest } from '../contract/driver.js';
import { memoryOperations } from '../contract/operations.js';
import { DriverError } from '../errors/errors.js';
import type { HostFiles, NodeHost } from '../node/node-host.js';
import { thisNode } from '../node/this-node.js';
import { KeyedQueue } from '../turns/keyed-queue.js';

const { signal } = new AbortController();
const request = {
  ...{ volume: { uid: 'v', name: 'v', namespace: 'default' }, handle: 'v', parameters: {} },
  ...{ node: 'n', signal, devicePath: '/dev/v', target: '/m/v', readOnly: false, mayFormat: false },
  operations: memoryOperations(),
} as unknown as MountRequest;

/** A node whose call of this name fails with an error of its file system. */
function failing(name: string): NodeHost {
  const fail = (): Promise<never> =>
    Promise.reject(Object.assign(new Error(`EIO: ${name}`), { code: 'EIO' }));
  const files: HostFiles = {
    ...thisNode.files,
    kindAt: (path) => Promise.resolve(path === '/dev/v' ? 'blockDevice' : 'directory'),
    realPath: (path) => Promise.resolve(path),
    makeFolder: () => Promise.resolve(),
    removeFolder: () => Promise.resolve(),
  };
  const host: NodeHost = {
    ...thisNode,
    files: name in files ? { ...files, [name]: fail } : files,
    turns: new KeyedQueue(),
    holders: { holders: () => Promise.resolve([]) },
    mounts: () => Promise.resolve([]),
    deviceNumber: () => Promise.resolve('8:16'),
    hasFileSystem: () => Promise.resolve(false),
    run: (command) =>
      Promise.resolve({
        exitCode: 0,
        stdout: command === 'blkid' ? 'TYPE=ext4\n' : '2097152\n',
        stderr: '',
      }),
    async *processMounts() {},
  };
  if (name in files) return host;
  return name === 'holders' ? { ...host, holders: { holders: fail } } : { ...host, [name]: fail };
}

const driverOn = (host: NodeHost, devicePath: string | undefined) =>
  createBlockDriver(
    {
      name: 'b',
      parameters: [],
      create: () => Promise.reject(new DriverError('Unsupported', 'no')),
      observe: () => Promise.reject(new DriverError('Unsupported', 'no')),
      delete: () => Promise.resolve(),
      attach: async ({ isMounted }) => {
        await isMounted();
        return { devicePath: '/dev/v' };
      },
      detach: () => Promise.resolve(),
      devicePath: () => Promise.resolve(devicePath),
      attachedHere: async () => {
        await host.files.kindAt('/dev/v');
        return undefined;
      },
    },
    { host },
  );

const calls: readonly [string, (host: NodeHost) => Promise<unknown>, readonly string[]][] = [
  [
    'mountBlockDevice',
    (host) => mountBlockDevice(request, { host }),
    ['makeFolder', 'realPath', 'kindAt', 'mounts'],
  ],
  [
    'unmountTarget',
    (host) => unmountTarget('/m/v', signal, host, '/dev/v'),
    ['realPath', 'kindAt', 'mounts', 'deviceNumber', 'hasFileSystem', 'removeFolder'],
  ],
  ['waitForDevice', (host) => waitForDevice(host, '/dev/v', 0, signal), ['realPath', 'kindAt']],
  [
    'requireUnused',
    (host) => requireUnused('/dev/v', host),
    ['deviceNumber', 'holders', 'hasFileSystem'],
  ],
  [
    'the unmount of a lost link',
    (host) => new LostLinks(host).unmount('/m/v', signal),
    ['realPath', 'kindAt', 'mounts'],
  ],
  ['attach', (host) => driverOn(host, undefined).attach(request), ['kindAt', 'mounts']],
  ['detach', (host) => driverOn(host, '/dev/v').detach(request), ['deviceNumber']],
  ['mount', (host) => driverOn(host, '/dev/v').mount(request), ['makeFolder']],
  ['unmount', (host) => driverOn(host, '/dev/v').unmount(request), ['realPath']],
];

describe('an error of the file system of a node', () => {
  for (const [call, work, names] of calls)
    for (const name of names)
      it(`is a DriverError of ${call}: ${name}`, async () => {
        const error: unknown = await work(failing(name)).catch((thrown: unknown) => thrown);
        expect(error, String(error)).to.be.instanceOf(DriverError);
        expect((error as DriverError).kind).to.equal('Unavailable');
        expect((error as DriverError).message).to.contain(`EIO: ${name}`);
      });
});
