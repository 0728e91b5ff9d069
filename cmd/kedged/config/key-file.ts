import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { failedPrecondition, invalid, messageOf, StatusError } from 'kedge';
import type { KeysAtHand, KeySource } from '@kedge/controllers';
import { replaceFile } from '@kedge/driver-sdk';
import { isPresent } from './is-present.js';

/** The file of the daemon's own keys, in its data directory. */
export const keyFileName = 'kek';
const keyBytes = 32;

/** Decodes keys, one per line or separated by commas: the first seals, all open. */
function decodeAll(text: string, source: string): readonly Buffer[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  return (words.length === 0 ? [''] : words).map((word) => decode(word, source));
}

function decode(text: string, source: string): Buffer {
  const key = Buffer.from(text, 'base64');
  if (key.length === keyBytes) return key;
  throw invalid([
    {
      field: source,
      description: `must contain ${keyBytes} bytes in base64, and has ${key.length}; create one with: head -c 32 /dev/urandom | base64`,
    },
  ]);
}

/** Reads a configured key file. @throws StatusError that names the setting */
async function textOf(kekFile: string): Promise<string> {
  try {
    return await readFile(kekFile, 'utf8');
  } catch (error) {
    throw failedPrecondition(
      'KeyUnreadable',
      `secrets.kekFile: ${kekFile} can't be read (${messageOf(error)}); copy the key-encryption key to that path, or set secrets.kekFile to its file`,
    );
  }
}

async function write(file: string, keys: readonly Buffer[]): Promise<void> {
  try {
    await replaceFile(file, keys.map((key) => `${key.toString('base64')}\n`).join(''));
  } catch (error) {
    throw new StatusError({
      code: 'Unavailable',
      reason: 'KeyUnwritable',
      message: `the key-encryption key can't be written to ${file} (${messageOf(error)}); free space on its disk, or make its directory writable, then retry`,
      cause: error,
    });
  }
}

async function ownKeys(dataDirectory: string, file: string): Promise<readonly Buffer[]> {
  if (await isPresent(file)) return decodeAll(await readFile(file, 'utf8'), file);
  if (await isPresent(join(dataDirectory, 'db')))
    throw failedPrecondition(
      'KeyMissing',
      `${file} is missing: the secrets of this database were sealed with it; restore the file, or set [secrets].kekFile to a copy`,
    );
  const key = randomBytes(keyBytes);
  await write(file, [key]);
  return [key];
}

/** The key-encryption keys of a daemon, and the source of the next key of a rotation. */
export interface DaemonKeys extends KeySource {
  readonly keys: readonly Buffer[];
}

/** The location of the key-encryption keys, for messages. */
export function keyPlace(
  dataDirectory: string,
  kekFile: string,
  fromEnvironment: string | undefined,
): string {
  if (fromEnvironment) return 'KEDGE_KEK (environment of kedged)';
  return kekFile === '' ? join(dataDirectory, keyFileName) : `${kekFile} (secrets.kekFile)`;
}

/** Reads the existing key-encryption keys without creating any. @throws StatusError as {@link loadKeys} */
export async function findKeys(
  dataDirectory: string,
  kekFile: string,
  fromEnvironment: string | undefined,
): Promise<KeysAtHand> {
  const place = keyPlace(dataDirectory, kekFile, fromEnvironment);
  const own = !fromEnvironment && kekFile === '';
  if (own && !(await isPresent(join(dataDirectory, keyFileName)))) return { type: 'absent', place };
  const { keys } = await loadKeys(dataDirectory, kekFile, fromEnvironment);
  return { type: 'found', keys, place };
}

/**
 * The key-encryption keys: from KEDGE_KEK, from [secrets].kekFile, or from `kek` in the data directory, which is
 * created on the first start (mode 0600). Several are allowed: the first seals, all open. A rotation rereads an
 * operator's file, or creates a new first key in the daemon's own file.
 * @throws StatusError FailedPrecondition when the database exists and its key does not (a new one would make every
 * secret unreadable), or when the configured file can't be read; InvalidArgument for a key of another length; Unavailable
 * if a new key can't be written, and as {@link isPresent}
 */
export async function loadKeys(
  dataDirectory: string,
  kekFile: string,
  fromEnvironment: string | undefined,
): Promise<DaemonKeys> {
  const nothing = (): Promise<void> => Promise.resolve();
  if (fromEnvironment) {
    const keys = decodeAll(fromEnvironment, 'KEDGE_KEK');
    return { keys, next: () => Promise.resolve(keys), settled: nothing };
  }
  if (kekFile !== '') {
    const read = async (): Promise<readonly Buffer[]> =>
      decodeAll(await textOf(kekFile), 'secrets.kekFile');
    return { keys: await read(), next: read, settled: nothing };
  }
  const file = join(dataDirectory, keyFileName);
  return {
    keys: await ownKeys(dataDirectory, file),
    next: async () => {
      const keys = [randomBytes(keyBytes), ...(await ownKeys(dataDirectory, file))];
      // The key is durable before it seals a value, so that a crash loses no secret.
      await write(file, keys);
      return keys;
    },
    settled: (keys) => write(file, keys),
  };
}
