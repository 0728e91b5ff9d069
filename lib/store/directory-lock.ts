import { createHash } from 'node:crypto';
import { mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer, connect, type Server } from 'node:net';
import { join } from 'node:path';
import { failedPrecondition, type StatusError } from '../base/index.js';

/**
 * One owner per data directory.
 *
 * LevelDB's own lock vanishes when its LOCK file is merely read, or when a second open fails in the
 * same process (research/reliability.md section 1). So three of ours stand before it: a registry of
 * this process, an abstract socket that the kernel frees with the process, and a pid file that says
 * who holds it (and stands in where abstract sockets do not exist or the namespace differs).
 */
export interface DirectoryLock {
  release(): Promise<void>;
}

const held = new Set<string>();
const pidFile = 'kedge.pid';

function refused(directory: string, owner: string): StatusError {
  return failedPrecondition(
    'DirectoryLocked',
    `data directory ${directory} is in use by ${owner}; stop it first, or choose another directory`,
  );
}

function socketName(directory: string): string {
  return `\0kedge-${createHash('sha256').update(directory).digest('hex').slice(0, 32)}`;
}

function askOwner(name: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const unknown = (): void => resolve('another process');
    const socket = connect(name);
    socket.setTimeout(1_000, () => socket.destroy());
    socket.on('data', (data) => (text += data.toString()));
    socket.on('error', unknown);
    socket.on('close', () => (/^\d+$/.test(text) ? resolve(`process ${text}`) : unknown()));
  });
}

function listen(server: Server, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(name, () => resolve());
  });
}

async function lockSocket(directory: string): Promise<Server | undefined> {
  if (process.platform !== 'linux') return undefined;
  const name = socketName(directory);
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(String(process.pid));
  });
  try {
    await listen(server, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
      throw refused(directory, await askOwner(name));
    throw error;
  }
  server.unref();
  return server;
}

/** When the process started, in clock ticks since boot: tells a live owner from a reused pid. */
async function startTime(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie holds nothing any more; it only waits for its parent.
    return fields[0] === 'Z' ? 'zombie' : fields[19];
  } catch {
    return undefined; // no such process, or no procfs: then only liveness counts
  }
}

async function livingOwner(file: string): Promise<number | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch {
    return undefined; // nobody wrote one
  }
  const [pidText = '', started = ''] = text.trim().split(' ');
  const pid = Number(pidText);
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return undefined;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return undefined;
  }
  const now = await startTime(pid);
  return now !== undefined && started !== '' && now !== started ? undefined : pid;
}

/**
 * Takes the directory for this process, creating it with mode 0700.
 * @throws StatusError FailedPrecondition (DirectoryLocked) that names the owner's pid.
 */
export async function lockDirectory(path: string): Promise<DirectoryLock> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const directory = await realpath(path);
  if (held.has(directory)) throw refused(directory, `this process (${process.pid})`);
  held.add(directory);
  let server: Server | undefined;
  try {
    server = await lockSocket(directory);
    const file = join(directory, pidFile);
    const owner = await livingOwner(file);
    if (owner !== undefined) throw refused(directory, `process ${owner}`);
    await writeFile(file, `${process.pid} ${(await startTime(process.pid)) ?? ''}\n`);
  } catch (error) {
    server?.close();
    held.delete(directory);
    throw error;
  }
  return {
    async release() {
      await rm(join(directory, pidFile), { force: true });
      server?.close();
      held.delete(directory);
    },
  };
}
