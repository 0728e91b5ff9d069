import { createHash } from 'node:crypto';
import {
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { requireCommand, runCommand } from '../node/run-command.js';
import { ConformanceError, assert } from './failure.js';

/** Folder of the suite's content, at the top of a volume. */
const folderName = 'kedge-conformance';
const blockBytes = 4096;
/** Not a whole number of pages, because a missing flush loses the tail of a file. */
const bulkBytes = 75 * blockBytes + 123;

/** Bytes that differ by label and by position. */
function bulkOf(label: string, length = bulkBytes): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / blockBytes) }, (_, n) =>
    Buffer.alloc(blockBytes, createHash('sha256').update(`${label} ${n}`).digest()),
  );
  return Buffer.concat(blocks).subarray(0, length);
}

/**
 * Writes files whose contents depend on the label, in nested directories: a large and a private one. Also writes an empty
 * file, and a symbolic link whose target contains the label.
 */
export async function writeContent(path: string, label: string): Promise<void> {
  const folder = join(path, folderName);
  await mkdir(join(folder, 'deep', 'deeper'), { recursive: true });
  await writeFile(join(folder, 'label'), label);
  await writeFile(join(folder, 'deep', 'deeper', 'bulk'), bulkOf(label));
  await writeFile(join(folder, 'empty'), '');
  await writeFile(join(folder, 'closed'), label);
  await chmod(join(folder, 'closed'), 0o600);
  await rm(join(folder, 'link'), { force: true });
  await symlink(`to-${label}`, join(folder, 'link'));
}

/** Size of a large file: more than a copy reads at once. */
const largeBytes = 5 * 1024 * 1024 + 1;
/** An owner without a user on this machine. */
const owner = { uid: 41_234, gid: 45_678 } as const;

/** Writes a large file. */
export function writeLarge(path: string, label: string): Promise<void> {
  return writeFile(join(path, 'large'), bulkOf(label, largeBytes));
}

/** Checks the content of the file of {@link writeLarge}. @throws ConformanceError if it is missing or differs */
export async function requireLargeFile(path: string, label: string, when: string): Promise<void> {
  const large = await readFile(join(path, 'large')).catch(() => Buffer.alloc(0));
  assert(
    large.equals(bulkOf(label, largeBytes)),
    `${when}, the file of ${largeBytes} bytes does not have the content that was written (${large.length} bytes were read)`,
  );
}

/** Writes a file of a uid without a user. Needs root. */
export async function writeOwned(path: string): Promise<void> {
  await writeFile(join(path, 'owned'), '');
  await chown(join(path, 'owned'), owner.uid, owner.gid);
}

/** Checks the owner and group of the file of {@link writeOwned}. @throws ConformanceError if they differ */
export async function requireOwned(path: string, when: string): Promise<void> {
  const { uid, gid } = await stat(join(path, 'owned'));
  assert(
    uid === owner.uid && gid === owner.gid,
    `${when}, the owner of a file is ${uid}:${gid} instead of ${owner.uid}:${owner.gid}`,
  );
}

/**
 * Flushes the file system of a path: a snapshot of a mounted device may lack data that is only in the page cache.
 */
export async function syncContent(path: string): Promise<void> {
  await requireCommand(runCommand, 'sync', ['-f', path], new AbortController().signal);
}

/** Removes the files of {@link writeContent}. The caller must have verified that the volume is mounted at `path`. */
export function removeContent(path: string): Promise<void> {
  return rm(join(path, folderName), { recursive: true, force: true });
}

/** The label of the content; undefined if there is none. @throws ConformanceError if it can't be read */
export async function labelOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(join(path, folderName, 'label'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ConformanceError(`the content can't be read: ${String(error)}`, { cause: error });
  }
}

/** Checks that a volume has the complete content of this label. @throws ConformanceError if any of it differs */
export async function requireContent(path: string, label: string, when: string): Promise<void> {
  const found = await labelOf(path);
  assert(found !== undefined, `${when}, the content "${label}" is missing`);
  assert(found === label, `${when}, the content is "${found}" instead of "${label}"`);
  const folder = join(path, folderName);
  try {
    const bulk = await readFile(join(folder, 'deep', 'deeper', 'bulk'));
    assert(bulk.equals(bulkOf(label)), `${when}, a large file has other content`);
    const { size } = await stat(join(folder, 'empty'));
    assert(size === 0, `${when}, an empty file has ${size} bytes`);
    const closed = join(folder, 'closed');
    assert((await readFile(closed, 'utf8')) === label, `${when}, a small file has other content`);
    const mode = (await stat(closed)).mode & 0o777;
    assert(mode === 0o600, `${when}, the mode of a file is ${mode.toString(8)} instead of 600`);
    const link = await readlink(join(folder, 'link'));
    assert(
      link === `to-${label}`,
      `${when}, a symbolic link points to ${link} instead of to-${label}`,
    );
  } catch (error) {
    if (error instanceof ConformanceError) throw error;
    throw new ConformanceError(`${when}, content is missing: ${String(error)}`, { cause: error });
  }
}

/** Checks that a volume has no entries except `lost+found`. @throws ConformanceError naming the others */
export async function requireEmpty(path: string, when: string): Promise<void> {
  const names = (await readdir(path)).filter((name) => name !== 'lost+found');
  const label = await labelOf(path);
  const whose = label === undefined ? '' : `, the content "${label}"`;
  assert(names.length === 0, `${when}, the volume contains ${names.join(', ')}${whose}`);
}
