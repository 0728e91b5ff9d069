import { execFileSync } from 'node:child_process';
import { open, readdir, readFile, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Random } from 'kedge';

const shimSource = fileURLToPath(new URL('../../store/sync-shim.c', import.meta.url));

function hasCompiler(): boolean {
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The data that a power loss must keep. */
interface Synced {
  /** Synced bytes of each file. */
  readonly sizes: ReadonlyMap<string, number>;
  readonly names: ReadonlySet<string>;
}

async function readSynced(log: string): Promise<Synced> {
  const sizes = new Map<string, number>();
  const names = new Set<string>();
  for (const line of (await readFile(log, 'utf8')).split('\n')) {
    const [, what, path] = /^(\d+|name) (.+)$/.exec(line) ?? [];
    if (path === undefined) continue;
    if (what === 'name') names.add(path);
    // Also by the name to which a new file is renamed.
    else sizes.set(path, Number(what)).set(path.replace(/\.new$/, ''), Number(what));
  }
  return { sizes, names };
}

/**
 * Cuts every file except CURRENT, lock files and LevelDB's text logs to its synced content, or to a torn piece of the
 * unsynced content, and removes half of the files whose names were not synced: POSIX guarantees no more. File systems
 * with an ordered journal keep those of synced files; `namesLost` false simulates one of them.
 */
export async function losePower(
  directory: string,
  log: string,
  random: Random,
  namesLost = true,
): Promise<void> {
  const { sizes, names } = await readSynced(log);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || /^(LOCK|LOG|LOG\.old|kedge\.pid)$/.test(entry.name)) continue;
    // CURRENT is renamed into place: its content was synced by another name.
    if (entry.name === 'CURRENT') continue;
    if (namesLost && !names.has(path) && random.next() < 0.5) {
      await rm(path);
      continue;
    }
    const { size } = await stat(path);
    const synced = Math.min(size, sizes.get(path) ?? 0);
    if (size === synced) continue;
    const choice = random.next();
    const kept = choice < 0.4 ? synced : synced + Math.floor(random.next() * (size - synced + 1));
    await truncate(path, kept);
    if (choice < 0.7 || kept === synced) continue;
    const noise = Buffer.alloc(Math.min(kept - synced, 4_096));
    if (choice > 0.85) for (let i = 0; i < noise.length; i += 1) noise[i] = random.next() * 256;
    const handle = await open(path, 'r+');
    await handle.write(noise, 0, noise.length, kept - noise.length);
    await handle.close();
  }
}

/** Counts the existing content as synced: it survived. */
export async function noteAll(directory: string, log: string): Promise<void> {
  const handle = await open(log, 'w');
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile())
      await handle.appendFile(`${(await stat(path)).size} ${path}\nname ${path}\n`);
  }
  await handle.close();
}

/** Builds the shim that records the syncs of a process; returns its path. */
export function buildShim(folder: string): string {
  const shim = join(folder, 'sync-shim.so');
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', shim, shimSource, '-ldl']);
  return shim;
}

/** Why the shim can't be used here; undefined if it can. @throws Error in CI, where it must be usable */
export function withoutShim(): string | undefined {
  if (process.platform === 'linux' && hasCompiler()) return undefined;
  if (process.env['CI']) throw new Error('needs a C compiler (Debian: gcc, libc6-dev)');
  return 'skipped: needs Linux and a C compiler (cc)';
}
