import { randomBytes } from 'node:crypto';
import { access, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { failedPrecondition, invalid } from 'kedge';

const keyBytes = 32;

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false, // absent, or not ours to see: reading it will tell
  );
}

function decode(text: string, source: string): Buffer {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length === keyBytes) return key;
  throw invalid([
    {
      field: source,
      description: `must hold ${keyBytes} bytes in base64, it has ${key.length}; make one with: head -c 32 /dev/urandom | base64`,
    },
  ]);
}

/**
 * The key-encryption key: from KEDGE_KEK, from [secrets].kekFile, or from `kek` in the data directory,
 * which is made on the first start (mode 0600).
 * @throws StatusError FailedPrecondition when the database exists and its key does not: a new one
 * would make every secret unreadable.
 */
export async function loadKey(
  dataDirectory: string,
  kekFile: string,
  fromEnvironment: string | undefined,
): Promise<Buffer> {
  if (fromEnvironment) return decode(fromEnvironment, 'KEDGE_KEK');
  if (kekFile !== '') return decode(await readFile(kekFile, 'utf8'), 'secrets.kekFile');
  const file = join(dataDirectory, 'kek');
  if (await exists(file)) return decode(await readFile(file, 'utf8'), file);
  if (await exists(join(dataDirectory, 'db')))
    throw failedPrecondition(
      'KeyMissing',
      `${file} is missing: the secrets of this database were sealed with it; put it back, or name its copy in [secrets].kekFile`,
    );
  const key = randomBytes(keyBytes);
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(`${key.toString('base64')}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return key;
}
