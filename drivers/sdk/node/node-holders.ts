import { opendir, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { anyInSlices } from '../turns/any-in-slices.js';
import { type Holder, type Holders, joinHolders } from './holders.js';
import { deviceNumber, readMountTable, unescapeMountField } from './mount-table.js';
import { isAtOrBelow } from './paths.js';
import { commandOf, processIds, processMounts } from './process-mounts.js';

/** Errors of an absent path. Files of a removed device (sysfs) fail with ENODEV or ENXIO, of a process with ESRCH. */
const absent = ['ENOENT', 'ENOTDIR', 'ENODEV', 'ENXIO', 'ESRCH'];

/** The result of a read, or `empty` if the device or the process no longer exists. */
async function unlessAbsent<T>(reading: Promise<T>, empty: T): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (absent.includes((error as NodeJS.ErrnoException).code ?? '')) return empty;
    throw error;
  }
}

/** The device and its partitions, by kernel name. */
async function partsOf(device: string): Promise<readonly string[]> {
  const name = basename(device);
  const below = await unlessAbsent(readdir(join('/sys/class/block', name)), []);
  return [name, ...below.filter((entry) => entry.startsWith(name))];
}

/** Maximum number of concurrently read descriptors of a process, which may have a million. */
const descriptorsAtOnce = 64;

/** The links of a process to its working directory, its root and, as far as they can be read, its open files. */
async function* openFiles(base: string): AsyncGenerator<string> {
  yield* ['cwd', 'root'];
  try {
    const names = await opendir(join(base, 'fd'), { bufferSize: descriptorsAtOnce });
    for await (const { name } of names) yield `fd/${name}`;
  } catch {
    // The process ended, or belongs to another user: the names read until then are used.
  }
}

/** Processes with open files below the directory: one open file each is enough. */
const processesWithFiles: Holders = {
  async holders({ directory }) {
    if (directory === undefined) return [];
    const found: Holder[] = [];
    for (const pid of await processIds()) {
      const base = join('/proc', String(pid));
      const isOpen = await anyInSlices(openFiles(base), descriptorsAtOnce, async (link) =>
        isAtOrBelow(await readlink(join(base, link)).catch(() => ''), directory),
      );
      if (isOpen) found.push({ type: 'files', pid, command: await commandOf(pid) });
    }
    return found;
  },
};

/** Whether an ext4 or xfs file system of a device or its partitions is in use, in any mount namespace. */
export async function hasFileSystem(device: string): Promise<boolean> {
  const places = (await partsOf(device)).flatMap((part) =>
    ['ext4', 'xfs'].map((fsType) => `/sys/fs/${fsType}/${part}`),
  );
  const found = await Promise.all(
    places.map((place) => unlessAbsent(stat(place), undefined).then(Boolean)),
  );
  return found.includes(true);
}

/** Mounts below the directory, in this mount namespace. */
const mountsBelow: Holders = {
  async holders({ directory }) {
    if (directory === undefined) return [];
    const below = (await readMountTable()).filter(
      ({ target }) => target !== directory && isAtOrBelow(target, directory),
    );
    const { pid } = process;
    const command = await commandOf(pid);
    return below.map(({ target }) => ({ type: 'mount', pid, command, target, here: true }));
  },
};

/**
 * Mounts of the device and of its partitions. Those of other file systems than ext4 and xfs are found only in this
 * namespace.
 */
const mountNamespaces: Holders = {
  async holders({ device }) {
    if (device === undefined) return [];
    const parts = await partsOf(device);
    const numbers = await Promise.all(
      parts.map((part) => unlessAbsent(deviceNumber(join('/dev', part)), '')),
    );
    const found: Holder[] = [];
    let own: string | undefined;
    for await (const { pid, namespace, mounts } of processMounts()) {
      const here = own === undefined || namespace === own;
      own ??= namespace;
      for (const { device: number, target } of mounts)
        if (numbers.includes(number))
          found.push({ type: 'mount', pid, command: await commandOf(pid), target, here });
      // Reading all namespaces takes long on a node with many workloads.
      if (here && !(await hasFileSystem(device))) break;
    }
    return found;
  },
};

/** Devices of the kernel over the device or over files in the directory. */
const kernelDevices: Holders = {
  async holders({ directory, device }) {
    const names: string[] = [];
    for (const part of device === undefined ? [] : await partsOf(device))
      names.push(...(await unlessAbsent(readdir(join('/sys/class/block', part, 'holders')), [])));
    const all = await unlessAbsent(readdir('/sys/class/block'), []);
    for (const name of all.filter((entry) => entry.startsWith('loop'))) {
      const backing = join('/sys/class/block', name, 'loop/backing_file');
      const file = (await unlessAbsent(readFile(backing, 'utf8'), '')).trim();
      const isOver = directory !== undefined && isAtOrBelow(file, directory);
      if (file !== '' && (isOver || file === device)) names.push(name);
    }
    return names.map((name) => ({ type: 'device', device: join('/dev', name) }));
  },
};

/** Swap on the device or on files in the directory. */
const swapSpace: Holders = {
  async holders({ directory, device }) {
    const [, ...lines] = (await unlessAbsent(readFile('/proc/swaps', 'utf8'), '')).split('\n');
    const parts = device === undefined ? [] : await partsOf(device);
    const paths = lines.map((line) => unescapeMountField(line.split(/\s/)[0] ?? ''));
    return paths
      .filter(
        (path) =>
          parts.some((part) => path === join('/dev', part)) ||
          (directory !== undefined && path !== '' && isAtOrBelow(path, directory)),
      )
      .map((path) => ({ type: 'swap', path }));
  },
};

/**
 * The holders of volumes on this node: processes with open files, mount namespaces and the kernel. Runtimes whose
 * workloads are not visible this way add their own source.
 */
export const nodeHolders: Holders = joinHolders(
  processesWithFiles,
  mountsBelow,
  mountNamespaces,
  kernelDevices,
  swapSpace,
);
