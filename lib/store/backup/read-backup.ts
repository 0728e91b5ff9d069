import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { failedPrecondition, limits, messageOf, StatusError } from '../../base/index.js';
import type { ApiObject } from '../../object/index.js';
import {
  backupFormat,
  type BackupHeader,
  type BackupTrailer,
  frameTypes,
  recordPrefixBytes,
} from './backup.js';
import { systemErrorCode } from '../directory/file-system.js';
import { clusterOf } from '../level/meta-record.js';
import { type DecodedRecord, decodeRecord } from '../record/record-codec.js';

/** A restore as a copy adds conditions to objects, which may then have more bytes than a write allows. */
const addedBytesMax = 16_384;
/** Maximum bytes of a frame; any record with its frame is smaller. */
const frameBytesMax = limits.objectBytesMax + addedBytesMax;

/** An object in a backup. */
export interface BackedUpObject {
  /** Name of its kind. */
  readonly kind: string;
  readonly object: ApiObject;
}

/** The description of a complete backup. */
export interface BackupDescription {
  readonly storeId: string;
  readonly clusterId: string;
  readonly revision: number;
  /** Time of the start of the backup. */
  readonly createdAt: string;
  readonly objects: number;
}

const headerMembers = { storeId: 'string', revision: 'number', createdAt: 'string' } as const;

function damaged(path: string, detail: string): StatusError {
  return new StatusError({
    code: 'DataLoss',
    reason: 'BackupDamaged',
    message: `backup ${path} is damaged: ${detail}; use another one`,
  });
}

/**
 * Returns the error of a read for the caller: a system error becomes FailedPrecondition (BackupUnreadable) with a
 * remedy, and any other error is returned unchanged.
 */
function unreadable(path: string, error: unknown): unknown {
  const code = systemErrorCode(error);
  if (code === undefined) return error;
  const problems: Readonly<Record<string, string>> = {
    ENOENT: 'does not exist',
    EISDIR: 'is a directory, and a backup is one file',
  };
  const problem = problems[code] ?? `can't be read (${messageOf(error)})`;
  return failedPrecondition(
    'BackupUnreadable',
    `backup ${path} ${problem}; use a file that kedged backup or kedge admin backup wrote`,
  );
}

async function* pieces(path: string): AsyncIterable<Buffer> {
  try {
    for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 }))
      yield piece as Buffer;
  } catch (error) {
    throw unreadable(path, error);
  }
}

/**
 * Yields the frames of a backup. `sha256` of the trailer is the hash of everything before it; that of others is empty.
 * @throws StatusError DataLoss (BackupDamaged), FailedPrecondition (BackupUnreadable)
 */
async function* frames(
  path: string,
): AsyncIterable<{ readonly type: number; readonly body: Buffer; readonly sha256: string }> {
  const hash = createHash('sha256');
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces(path)) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let at = 0;
    while (rest.length - at >= 5) {
      const length = rest.readUInt32BE(at);
      if (length < 1 || length > frameBytesMax)
        throw damaged(path, `frame length ${length} is invalid`);
      if (rest.length - at < 4 + length) break;
      const body = rest.subarray(at + 5, at + 4 + length);
      const type = rest[at + 4] ?? 0;
      yield { type, body, sha256: type === frameTypes.trailer ? hash.copy().digest('hex') : '' };
      hash.update(rest.subarray(at, at + 4 + length));
      at += 4 + length;
    }
    rest = rest.subarray(at);
  }
  if (rest.length > 0) throw damaged(path, 'it ends inside a frame');
}

/**
 * Reads a backup completely, record by record.
 * @throws StatusError DataLoss (BackupDamaged) for a damaged file, FailedPrecondition (BackupFormat, BackupUnreadable);
 * errors of `onRecord`
 */
export async function readBackup(
  path: string,
  onRecord: (record: DecodedRecord) => Promise<void>,
): Promise<{ readonly header: BackupHeader; readonly trailer: BackupTrailer }> {
  let header: BackupHeader | undefined;
  let trailer: BackupTrailer | undefined;
  let objects = 0;
  for await (const { type, body, sha256 } of frames(path)) {
    if (trailer) throw damaged(path, 'it has data after its end');
    if (!header) {
      if (type !== frameTypes.header) throw damaged(path, 'it has no header');
      header = parse<BackupHeader>(path, body, { format: 'string' });
      if (header.format !== backupFormat)
        throw failedPrecondition(
          'BackupFormat',
          `backup ${path} has format ${header.format}, and this release reads ${backupFormat}; use the release that wrote it`,
        );
      parse<BackupHeader>(path, body, headerMembers);
    } else if (type === frameTypes.trailer) {
      trailer = parse<BackupTrailer>(path, body, { objects: 'number', sha256: 'string' });
      if (trailer.sha256 !== sha256) throw damaged(path, 'its hash differs');
    } else if (type === frameTypes.record && body.length > recordPrefixBytes) {
      const address = { revision: body.readUIntBE(0, 6), index: body.readUInt32BE(6) };
      await onRecord(recordIn(path, address, body));
      objects += 1;
    } else {
      throw damaged(
        path,
        `frame type ${type} is unknown or out of place, or the frame is too short`,
      );
    }
  }
  if (!header || !trailer) throw damaged(path, 'its end is missing');
  if (trailer.objects !== objects)
    throw damaged(path, `${objects} records instead of ${trailer.objects}`);
  return { header, trailer };
}

function recordIn(
  path: string,
  address: { readonly revision: number; readonly index: number },
  body: Buffer,
): DecodedRecord {
  try {
    return decodeRecord({ ...address, bytes: body.subarray(recordPrefixBytes) });
  } catch {
    // The record's own error advises to restore a backup, but this is the backup.
    throw damaged(path, `its record of revision ${address.revision} is not the written one`);
  }
}

/**
 * Parses the JSON object of a header or trailer, with members of these types.
 * @throws StatusError DataLoss (BackupDamaged)
 */
function parse<T>(path: string, body: Buffer, members: { readonly [name in keyof T]?: string }): T {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch (error) {
    throw damaged(path, messageOf(error));
  }
  const given = typeof value === 'object' && value !== null ? value : {};
  for (const [name, type] of Object.entries(members))
    if (typeof Reflect.get(given, name) !== type)
      throw damaged(path, `${name} is not a ${String(type)}`);
  return given as T;
}

/** The object in a record of a backup. */
export function objectIn({ kind, json }: DecodedRecord): BackedUpObject {
  return { kind, object: JSON.parse(json) as ApiObject };
}

/**
 * Reads a backup file completely and returns its description; passes every object to `onObject`, if given.
 * @throws StatusError DataLoss (BackupDamaged) if a byte differs from the written one, FailedPrecondition
 * (BackupFormat) for another format, (BackupUnreadable) if the file can't be read; errors of `onObject`
 */
export async function verifyBackup(
  path: string,
  onObject?: (content: BackedUpObject) => void,
): Promise<BackupDescription> {
  const { header, trailer } = await readBackup(path, (record) => {
    onObject?.(objectIn(record));
    return Promise.resolve();
  });
  const { storeId, revision, createdAt } = header;
  const { objects } = trailer;
  return { storeId, clusterId: clusterOf(header), revision, createdAt, objects };
}
