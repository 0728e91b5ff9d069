import { crc32 } from 'node:zlib';
import { StatusError } from '../../base/index.js';
import type { Checkpoint } from '../engine/engine.js';

/** Version of the on-disk format. Version 3: no superseded record is below the compaction mark. */
export const schemaVersion = 3;
/** The oldest version that is migrated. */
const oldestSchemaVersion = 2;

/** The only record beside the log: identity and progress. */
export interface MetaRecord {
  readonly schemaVersion: number;
  readonly storeId: string;
  /** Id of the cluster; absent in records of earlier releases, see {@link clusterOf}. */
  readonly clusterId?: string;
  readonly checkpoint: Checkpoint;
}

/**
 * The cluster that a store or a backup belongs to. Earlier releases had no cluster id: there it is the store id, so
 * that the store and its backups agree without a write.
 */
export function clusterOf(kept: { readonly storeId: string; readonly clusterId?: string }): string {
  return kept.clusterId ?? kept.storeId;
}

const checksumBytes = 4;

/** The bytes of the record: CRC-32 u32 big-endian, then its JSON. */
export function encodeMeta(meta: MetaRecord): Buffer {
  const text = Buffer.from(JSON.stringify(meta));
  const head = Buffer.alloc(checksumBytes);
  head.writeUInt32BE(crc32(text));
  return Buffer.concat([head, text]);
}

/**
 * Decodes the record. Undefined if its checksum does not match. Records of schema version 1 have no checksum and are
 * not verified.
 */
export function decodeMeta(stored: Buffer): MetaRecord | undefined {
  const text = stored.subarray(checksumBytes);
  const sound = stored.length > checksumBytes && crc32(text) === stored.readUInt32BE(0);
  // In schema version 1 the record had no checksum: it was its JSON.
  const first = !sound && stored.toString('latin1').startsWith('{"schemaVersion":1,');
  if (!sound && !first) return undefined;
  return JSON.parse((first ? stored : text).toString()) as MetaRecord;
}

/**
 * Checks that this release reads or migrates a schema version.
 * @throws StatusError FailedPrecondition (SchemaVersion)
 */
export function requireKnownVersion(directory: string, found: number): void {
  if (found >= oldestSchemaVersion && found <= schemaVersion) return;
  const way =
    found > schemaVersion
      ? 'use the release that wrote it, or a later one'
      : `open it first with a release that reads version ${found} and writes version ${oldestSchemaVersion}`;
  throw new StatusError({
    code: 'FailedPrecondition',
    reason: 'SchemaVersion',
    message: `the database in ${directory} has schema version ${found}, and this release reads versions ${oldestSchemaVersion} to ${schemaVersion}; ${way}`,
  });
}
