import { damaged, readingError } from '../directory/database-error.js';
import type { EngineRecord, ScanOptions } from '../engine/engine.js';
import type { Database } from './level-database.js';
import { decodeKey, encodeKey, logEnd } from './level-keys.js';

/** Records per read: enough for the native side, few enough to yield often. */
const chunkRecords = 400;

/** The database that a log is read from. */
export interface ScannedLog {
  readonly database: () => Database;
  /** The path of the database, for errors. */
  readonly path: string;
  /** Called after the last record of the scan was read; not if the scan ends earlier. */
  readonly ended: () => Promise<void>;
}

/**
 * Yields the records after `revision`, up to `through` if it is given, in chunks.
 * @throws StatusError DataLoss for a damaged table or key, Unavailable for a failed read or a closed database
 */
export async function* scanLog(
  { database, path, ended }: ScannedLog,
  revision: number,
  { through }: ScanOptions,
): AsyncIterable<readonly EngineRecord[]> {
  const from = encodeKey({ revision: revision + 1, index: 0 });
  const to = through === undefined ? logEnd : encodeKey({ revision: through + 1, index: 0 });
  const iterator = database().iterator({ gte: from, lt: to });
  // The next chunk is read while this one is processed; the read may fail before it is awaited.
  const ahead = (): ReturnType<typeof iterator.nextv> => {
    const chunk = reading(path, iterator.nextv(chunkRecords));
    chunk.catch(() => undefined);
    return chunk;
  };
  let next = ahead();
  try {
    for (;;) {
      const entries = await next;
      if (entries.length === 0) return await ended();
      next = ahead();
      yield entries.map(([key, bytes]) => recordOf(path, key, bytes));
    }
  } finally {
    await iterator.close();
  }
}

function recordOf(path: string, key: Buffer, bytes: Buffer): EngineRecord {
  const address = decodeKey(key);
  if (!address) throw damaged(path, `the log has a key of invalid length (${key.length} bytes)`);
  return { revision: address.revision, index: address.index, bytes };
}

/** Awaits a read of the database and converts its errors. */
export async function reading<T>(path: string, promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw readingError(path, error);
  }
}
