import { crc32 } from 'node:zlib';
import type { FileSystem } from '../store/index.js';

/** A key (as latin1 text, which sorts like its bytes) with its value; undefined if it is deleted. */
export type Entry = readonly [key: string, value: Buffer | undefined];

/** The files of the database according to its manifest. */
export interface Manifest {
  readonly tables: readonly number[];
  /** Logs from this number on are not yet in tables. */
  readonly log: number;
  readonly next: number;
}

/** Represents a deleted key, in place of the size of a value. */
export const deleted = 0xffffffff;

/** A corruption error with the message of LevelDB. */
export function corrupt(what: string): Error {
  return Object.assign(new Error(`Corruption: ${what}`), { code: 'LEVEL_CORRUPTION' });
}

/**
 * Reads a file that the database names.
 * @throws Error of {@link corrupt} for a missing file, as LevelDB; other errors of the file system
 */
export async function readNamed(files: FileSystem, path: string): Promise<Buffer> {
  try {
    return await files.readFile(path);
  } catch (error) {
    const { code = '' } = error as { readonly code?: string };
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(code)) throw corrupt(`${path} is missing`);
    throw error;
  }
}

/** Encodes entries as in a table or a log. */
export function encodeEntries(entries: Iterable<Entry>): Buffer {
  const parts: Buffer[] = [];
  for (const [key, value] of entries) {
    const head = Buffer.alloc(6);
    head.writeUInt16LE(key.length, 0);
    head.writeUInt32LE(value?.length ?? deleted, 2);
    parts.push(head, Buffer.from(key, 'latin1'), value ?? Buffer.alloc(0));
  }
  return Buffer.concat(parts);
}

/** Decodes the entries of a table or a log record. @throws Error of {@link corrupt} */
export function decodeEntries(bytes: Buffer): readonly Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (at + 6 > bytes.length) throw corrupt('an entry is truncated');
    const keyEnd = at + 6 + bytes.readUInt16LE(at);
    const size = bytes.readUInt32LE(at + 2);
    const end = keyEnd + (size === deleted ? 0 : size);
    if (end > bytes.length) throw corrupt('an entry is longer than its table');
    const key = bytes.toString('latin1', at + 6, keyEnd);
    entries.push([key, size === deleted ? undefined : Buffer.from(bytes.subarray(keyEnd, end))]);
    at = end;
  }
  return entries;
}

/** Encodes a manifest with its checksum. */
export function encodeManifest(manifest: Manifest): Buffer {
  const text = JSON.stringify(manifest);
  return Buffer.from(`${crc32(text)} ${text}`);
}

/**
 * The manifest that CURRENT names.
 * @throws Error of {@link corrupt} for a manifest that is missing or damaged; other errors of the file system
 */
export async function readManifest(files: FileSystem, path: string): Promise<Manifest> {
  const name = (await files.readFile(`${path}/CURRENT`)).toString();
  const [checksum, ...rest] = (await readNamed(files, `${path}/${name}`)).toString().split(' ');
  const text = rest.join(' ');
  if (String(crc32(text)) !== checksum) throw corrupt(`${name} has a wrong checksum`);
  return JSON.parse(text) as Manifest;
}

/** Writes a file and syncs it. */
export async function writeWhole(files: FileSystem, path: string, content: Buffer): Promise<void> {
  const file = await files.open(path, 'w');
  try {
    await file.write(content, 0);
    await file.sync();
  } finally {
    await file.close();
  }
}
