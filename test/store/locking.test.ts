import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { hasCode } from 'kedge';
import { eventually } from 'kedge/testing';
import { content, openLedger, put } from './ledger.js';

const child = fileURLToPath(new URL('lock-child.js', import.meta.url));

/** Isolation like that of a container: pids, abstract sockets and mounts of the host are not visible. */
const container = ['unshare', '--pid', '--net', '--mount', '--ipc', '--fork', '--mount-proc'];

function canUnshare(): boolean {
  try {
    execFileSync(container[0] ?? '', [...container.slice(1), 'true'], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

/** Content of every file, except files that the owner continues to write and LevelDB's own logs. */
async function snapshot(directory: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  // Copied by another process: reading LOCK in a process with the lock would release it.
  const copy = await mkdtemp(join(tmpdir(), 'kedge-snapshot-'));
  execFileSync('cp', ['-r', directory, join(copy, 'data')]);
  for (const entry of await readdir(join(copy, 'data'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || /^(LOG(\.old)?|high-water)$/.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    found[path.slice(copy.length)] = (await readFile(path)).toString('hex');
  }
  await rm(copy, { recursive: true });
  return found;
}

describe('lock of a data directory', function () {
  this.timeout(180_000);
  let folder: string;
  let directory: string;
  let children: ChildProcess[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-lock-'));
    directory = join(folder, 'data');
    children = [];
  });
  afterEach(async () => {
    for (const { pid } of children) kill(pid);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  function kill(pid: number | undefined): void {
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // Already removed.
    }
  }

  /** Starts a child; resolves with its first line. */
  async function start(
    prefix: readonly string[],
    path: string,
  ): Promise<{ readonly line: string; readonly process: ChildProcess }> {
    const [command = '', ...args] = [...prefix, process.execPath, child, path];
    // A separate process group, so that processes inside a namespace are killed with it.
    const started = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    children.push(started);
    let output = '';
    let problem = '';
    started.stdout?.on('data', (data: Buffer) => (output += data.toString()));
    started.stderr?.on('data', (data: Buffer) => (problem += data.toString()));
    const line = await eventually('a line of the child', () => {
      if (problem !== '') throw new Error(problem);
      return output.includes('\n') && output.split('\n')[0];
    });
    return { line, process: started };
  }

  interface Refusal {
    readonly reason: string;
    readonly message: string;
  }

  async function refusedBy(prefix: readonly string[], path: string): Promise<string> {
    const before = await snapshot(directory);
    const { line } = await start(prefix, path);
    const refusal = JSON.parse(line) as Refusal;
    expect(refusal.reason, refusal.message).to.equal('DirectoryLocked');
    expect(refusal.message).to.not.contain('damaged');
    expect(await snapshot(directory), 'the refused process changed something').to.deep.equal(
      before,
    );
    return refusal.message;
  }

  async function killOwner(owner: ChildProcess): Promise<void> {
    const exited = new Promise((resolve) => owner.on('close', resolve));
    kill(owner.pid);
    await exited;
  }

  it('refuses another process, names its owner, and is free as soon as the owner is killed', async () => {
    const { line, process: owner } = await start([], directory);
    expect(line).to.equal('holds');
    expect(await refusedBy([], directory)).to.contain(`process ${owner.pid};`);
    await killOwner(owner);
    const store = await openLedger(directory);
    expect(await refusedBy([], directory)).to.contain(`process ${process.pid};`);
    await put(store, 'after', 1);
    await store.close();
    expect((await start([], directory)).line).to.equal('holds');
  });

  describe('between containers', () => {
    before(function () {
      if (canUnshare()) return;
      if (process.env['CI'] && process.getuid?.() === 0) throw new Error('unshare does not work');
      console.log('skipped: making pid and network namespaces needs root and unshare(1)');
      this.skip();
    });

    it('works without /proc, as in a bare chroot, in both directions', async () => {
      const bare = ['unshare', '--mount', 'sh', '-c', 'umount -l /proc && exec "$@"', 'sh'];
      const inside = await start(bare, directory);
      expect(inside.line).to.equal('holds');
      await refusedBy([], directory);
      await killOwner(inside.process);
      expect((await start([], directory)).line).to.equal('holds');
      await refusedBy(bare, directory);
      const long = join(folder, 'd'.repeat(120), 'data');
      await mkdir(long, { recursive: true });
      expect((await start(bare, long)).line).to.equal('holds');
    });

    it('refuses a process in other pid and network namespaces, in both directions', async () => {
      const inside = await start(container, directory);
      expect(inside.line).to.equal('holds');
      const pidFile = await readFile(join(directory, 'kedge.pid'), 'utf8');
      expect(await refusedBy([], directory)).to.match(/another process \(pid 1 in its container\)/);
      expect(await refusedBy(container, directory)).to.contain('another process');
      // The owner's file is unchanged, regardless of the callers.
      expect(await readFile(join(directory, 'kedge.pid'), 'utf8')).to.equal(pidFile);
      await killOwner(inside.process);

      const store = await eventually('the lock to be free', () =>
        openLedger(directory).catch(() => undefined),
      );
      const message = await refusedBy(container, directory);
      expect(message).to.contain(`another process (pid ${process.pid} in its container)`);
      await put(store, 'mine', 1);
      expect((await content(store)).size).to.equal(2);
      await store.close();
    });

    it('refuses through a bind mount, in this process and in others', async () => {
      const alias = join(folder, 'alias');
      await mkdir(directory);
      await mkdir(alias);
      execFileSync('mount', ['--bind', directory, alias]);
      try {
        const store = await openLedger(directory);
        const again = await openLedger(alias).catch((error: unknown) => error);
        expect(hasCode(again, 'FailedPrecondition')).to.equal(true);
        await refusedBy([], alias);
        await refusedBy(container, alias);
        // The refusals did not affect the owner.
        await refusedBy(container, directory);
        await put(store, 'a', 1);
        await store.close();
        const other = await openLedger(alias);
        expect((await content(other)).get('a')).to.equal(1);
        await refusedBy([], directory);
        await other.close();
      } finally {
        execFileSync('umount', [alias]);
      }
    });
  });

  it('is free after its release although its pid file can not be removed', async () => {
    const store = await openLedger(directory);
    await put(store, 'a', 1);
    const pidFile = join(directory, 'kedge.pid');
    await rm(pidFile);
    await mkdir(join(pidFile, 'not-a-file'), { recursive: true });
    await store.close();
    await rm(pidFile, { recursive: true });
    const again = await openLedger(directory);
    expect((await content(again)).get('a')).to.equal(1);
    await again.close();
  });

  it('uses no descriptors of its owner for clients that stay connected to its socket', async () => {
    const store = await openLedger(directory);
    const path = join(directory, 'lock', 'holder');
    const descriptors = async (): Promise<number> => (await readdir('/proc/self/fd')).length;
    const before = await descriptors();
    const sockets = Array.from({ length: 50 }, () => connect({ path, allowHalfOpen: true }));
    let ended = 0;
    for (const socket of sockets) socket.resume().on('end', () => (ended += 1));
    await eventually('all answers', () => ended === sockets.length);
    // Their own ends stay open; those of the owner, in the same process, do not.
    await eventually(
      'the owner to close the connections',
      async () => (await descriptors()) - before <= 50,
    );
    for (const socket of sockets) socket.destroy();
    await store.close();
  });

  it('can not be blocked by another user who binds abstract socket names', async () => {
    await mkdir(directory);
    const { dev, ino } = await stat(directory, { bigint: true });
    const digest = createHash('sha256').update(`${dev}:${ino}`).digest('hex');
    // Abstract names have no owner. Earlier releases asked for this one.
    const squatter = createServer((socket) => socket.end('1'));
    const listening = new Promise<void>((resolve) => squatter.once('listening', resolve));
    squatter.listen(`\0kedge-${digest.slice(0, 32)}`);
    await listening;
    try {
      const store = await openLedger(directory);
      await put(store, 'a', 1);
      expect(await refusedBy([], directory)).to.contain(`process ${process.pid};`);
      await store.close();
    } finally {
      squatter.close();
    }
  });

  it('hides the socket that names its owner from other users', async () => {
    const store = await openLedger(directory);
    expect((await stat(join(directory, 'lock'))).mode & 0o077).to.equal(0);
    await store.close();
    expect(await readdir(join(directory, 'lock'))).to.not.include('holder');
  });

  it('still refuses others after its process closed a handle of LOCK, which releases the lock of the kernel', async () => {
    const store = await openLedger(directory);
    await readFile(join(directory, 'lock', 'LOCK'));
    const { line } = await start([], directory);
    expect(line).to.contain('DirectoryLocked').and.contain(`process ${process.pid};`);
    await put(store, 'a', 1);
    await store.close();
    expect((await start([], directory)).line).to.equal('holds');
  });

  it('works at a path that is too long for a socket address', async () => {
    const long = join(folder, 'x'.repeat(120), 'data');
    const store = await openLedger(long);
    const { line } = await start([], long);
    expect(line).to.contain('DirectoryLocked').and.contain(`process ${process.pid};`);
    await store.close();
  });

  it('refuses through a symbolic link', async () => {
    const link = join(folder, 'link');
    const store = await openLedger(directory);
    await symlink(directory, link);
    const again = await openLedger(link).catch((error: unknown) => error);
    expect(hasCode(again, 'FailedPrecondition')).to.equal(true);
    await refusedBy([], link);
    await store.close();
  });

  it('can be taken after a kill, regardless of the files that the killed process left', async () => {
    const store = await openLedger(directory);
    await put(store, 'a', 1);
    await store.close();
    const lock = join(directory, 'lock');
    for (const name of (await readdir(lock)).sort()) {
      for (const content of ['', 'nonsense', undefined]) {
        const copy = join(folder, `${name}-${content ?? 'missing'}`);
        await cp(directory, copy, { recursive: true });
        if (content === undefined) await rm(join(copy, 'lock', name));
        else await writeFile(join(copy, 'lock', name), content);
        await writeFile(join(copy, 'kedge.pid'), '1 pid:[1]\n');
        const again = await openLedger(copy);
        const other = await openLedger(copy).catch((error: unknown) => error);
        expect(hasCode(other, 'FailedPrecondition')).to.equal(true);
        await again.close();
      }
    }
  });
});
