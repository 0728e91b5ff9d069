import { type FileHandle, open, stat, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';

const socketName = 'holder';
const askMs = 1_000;
const textMax = 100;

/** Bytes of a socket's address without its terminating zero; longer ones are truncated silently. */
const addressBytesMax = 107;

/**
 * A path of the socket that fits into an address, valid while `folder` is open. With `/proc` there is always one.
 * Undefined if none fits.
 */
async function fittingPath(path: string, folder: FileHandle): Promise<string | undefined> {
  const opened = `/proc/self/fd/${folder.fd}`;
  try {
    await stat(opened);
    return `${opened}/${socketName}`;
  } catch {
    // Without /proc, as in a bare chroot.
    const whole = join(path, socketName);
    return Buffer.byteLength(whole) <= addressBytesMax ? whole : undefined;
  }
}

/**
 * A socket in a folder that only its owner and root may write to. The kernel closes it when the process ends. It
 * refuses other processes if the kernel's lock was lost.
 */
export interface HolderSocket {
  close(): Promise<void>;
}

/**
 * Resolves to the text that the listening process sent, possibly incomplete or empty; undefined if no process listens.
 */
function ask(path: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(path);
    socket.setTimeout(askMs, () => socket.destroy());
    socket.on('data', (data) => (text = (text + data.toString()).slice(0, textMax)));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const code = error.code ?? '';
      if (['ENOENT', 'ECONNREFUSED'].includes(code)) resolve(undefined);
      else if (code === 'ECONNRESET' || code === 'EAGAIN') resolve(text);
      else reject(error);
    });
    socket.on('close', () => resolve(text));
  });
}

/**
 * Queries the holder of the directory with this lock folder. Linux only.
 * @returns its text, which may be empty; undefined if no process listens
 */
export async function askHolder(folder: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined;
  const handle = await open(folder, 'r');
  try {
    const path = await fittingPath(folder, handle);
    return path === undefined ? undefined : await ask(path);
  } finally {
    await handle.close();
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => resolve());
  });
}

/** Errors of file systems without sockets: there the kernel's lock works alone. */
const noSockets = new Set(['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EINVAL']);

/**
 * Removes a socket, or a file; it may be absent. Not with `rm`, which stats the path first: after a stat of a socket
 * that is not bigint, Node's module loader returns symbolic links unresolved (nodejs/node#51142) until the next stat.
 * The program loads modules at the same time, and below a linked `node_modules` it would load packages twice or empty.
 */
export async function removeSocket(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/**
 * Listens in the folder and sends `text`, at most 100 characters, to each process that connects. Only for the
 * holder of the kernel's lock: it removes the socket of a killed process. Linux only.
 * @returns undefined if sockets are not supported, or no path fits an address
 */
export async function holdSocket(folder: string, text: string): Promise<HolderSocket | undefined> {
  if (process.platform !== 'linux') return undefined;
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    // Close at once, so that a client that stays connected uses no descriptor.
    socket.end(text, () => socket.destroy());
  });
  await removeSocket(join(folder, socketName));
  // Open as long as the server: its close removes the socket by this path.
  const handle = await open(folder, 'r');
  const path = await fittingPath(folder, handle);
  if (path === undefined) {
    await handle.close();
    return undefined;
  }
  try {
    await listen(server, path);
  } catch (error) {
    await handle.close();
    if (noSockets.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
  server.unref();
  return {
    async close() {
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await handle.close();
    },
  };
}
