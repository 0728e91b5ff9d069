import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Level } from 'level';
import {
  type Clock,
  messageOf,
  type Random,
  StatusError,
  systemClock,
  systemRandom,
} from '../../base/index.js';
import { parseKey } from '../../object/index.js';
import { writeBackup } from '../backup/backup.js';
import { lockDirectory } from '../directory/directory-lock.js';
import { type FileSystem, nodeFileSystem } from '../directory/file-system.js';
import { readMark } from '../directory/high-water.js';
import { LazyObject } from '../record/lazy-object.js';
import { type Database, levelDriver } from '../level/level-database.js';
import { decodeKey, logEnd, metaKey } from '../level/level-keys.js';
import {
  clusterOf,
  decodeMeta,
  type MetaRecord,
  requireKnownVersion,
} from '../level/meta-record.js';
import { ObjectIndex } from '../index/object-index.js';
import { type DecodedRecord, decodeRecord } from '../record/record-codec.js';
import { salvageSource } from '../directory/replacement.js';
import { copyForSalvage, type DamagedFile } from './salvage-copy.js';
import { LossCount, type SalvageLosses } from './salvage-losses.js';
import type { BackupReport } from '../contract/object-store.js';
import { readTable, type TableEntry } from '../table/table-entries.js';

const chunkRecords = 400;
const writeBufferBytes = 4 * 1024 * 1024;
/** In Node.js a Level is a ClassicLevel, which has `repair`; the universal types omit it. */
const { repair } = Level as unknown as {
  readonly repair: (location: string) => Promise<void>;
};

/** Kind, namespace and name of an object. */
export interface SalvagedName {
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** The readable content of a damaged store. */
export interface Salvaged {
  /**
   * The id of the cluster; undefined if the identity record is lost. A backup of this content then gets a new cluster
   * id.
   */
  readonly clusterId: string | undefined;
  /** Objects in their last readable version. A deleted object may reappear if the record of its deletion is lost. */
  readonly objects: readonly SalvagedName[];
  /** Number of records that could be read. */
  readonly records: number;
  /** Number of records with a wrong checksum or an invalid key. */
  readonly damagedRecords: number;
  /** Damaged files of the database. */
  readonly damagedFiles: readonly DamagedFile[];
  readonly losses: SalvageLosses;
  /** Writes the objects to `sink` as the bytes of a backup. */
  backup(sink: (bytes: Buffer) => Promise<void>): Promise<BackupReport>;
}

/** Dependencies of {@link salvageStore}. */
export interface SalvageOptions {
  /** Directory for a temporary copy of the database, outside the store's directory. */
  readonly scratch: string;
  readonly clock?: Clock;
  readonly random?: Random;
  /** The file system of the store and the copy. Default: the machine's. */
  readonly fileSystem?: FileSystem;
}

/**
 * Reads the readable part of the store in a directory, which must not be open. It reads a copy of the database and
 * does not change the store. A killed process leaves that copy, `<scratch>/kedge-salvage-<id>`.
 * @throws StatusError FailedPrecondition (DirectoryLocked, SchemaVersion), Unavailable (LockUnavailable,
 * ScratchUnwritable), DataLoss (NothingToSalvage)
 */
export async function salvageStore(directory: string, options: SalvageOptions): Promise<Salvaged> {
  const {
    clock = systemClock,
    random = systemRandom,
    fileSystem: files = nodeFileSystem,
  } = options;
  const copy = join(options.scratch, `kedge-salvage-${random.uuid()}`);
  const lock = await lockDirectory(directory);
  try {
    const source = await salvageSource(files, directory);
    const { damagedFiles, rescued } = await copyForSalvage(files, source.database, copy);
    const database = await openRepaired(copy, rescued);
    try {
      const meta = await metaIn(database);
      if (meta) requireKnownVersion(directory, meta.schemaVersion);
      const losses = new LossCount(meta?.checkpoint);
      const readable = await readRecords(database, (record) => losses.next(record));
      return salvaged({
        ...readable,
        meta,
        damagedFiles,
        losses: losses.end(await readMark(files, source.mark).catch(() => illegible)),
        clock,
        random,
      });
    } finally {
      await database.close();
    }
  } finally {
    await files.remove(copy);
    await lock.release();
  }
}

const illegible = { type: 'illegible' } as const;

async function openRepaired(folder: string, rescued: readonly TableEntry[]): Promise<Database> {
  try {
    await repair(folder);
    const rest = rescued.length === 0 ? [] : await undeleted(folder, rescued);
    const database = await levelDriver.open(folder, writeBufferBytes);
    await putBack(database, rest);
    return database;
  } catch (cause) {
    throw new StatusError({
      code: 'DataLoss',
      reason: 'NothingToSalvage',
      message: `the database can't be read at all: ${messageOf(cause)}; restore a backup`,
      cause,
    });
  }
}

/**
 * Returns the entries whose keys were not deleted by a compaction: each key of the log is written once and deleted
 * once.
 */
async function undeleted(
  folder: string,
  rescued: readonly TableEntry[],
): Promise<readonly TableEntry[]> {
  const deleted = new Set<string>();
  const note = (entries: readonly TableEntry[]): void => {
    for (const { type, key } of entries) if (type === 'deleted') deleted.add(key.toString('hex'));
  };
  note(rescued);
  // The repair converted the logs to tables.
  for (const name of await readdir(folder))
    if (/\.(ldb|sst)$/.test(name)) note(readTable(await readFile(join(folder, name))).entries);
  return rescued.filter(({ type, key }) => type === 'deleted' || !deleted.has(key.toString('hex')));
}

async function putBack(database: Database, entries: readonly TableEntry[]): Promise<void> {
  for (const entry of entries) {
    const { key } = entry;
    if (entry.type === 'deleted') {
      // Another table that contains the value may be intact.
      await database.batch().del(key).write('unsynced');
      continue;
    }
    const present = await database.get(key);
    const take = key.equals(metaKey) ? isLater(entry.value, present) : present === undefined;
    if (take) await database.put(key, entry.value, 'unsynced');
  }
}

/** Whether a meta record is later than another: every compaction rewrites the record. */
function isLater(found: Buffer, present: Buffer | undefined): boolean {
  const revision = (bytes: Buffer | undefined): number =>
    (bytes && decodeMeta(bytes)?.checkpoint.revision) ?? -1;
  return revision(found) > revision(present);
}

async function metaIn(database: Database): Promise<MetaRecord | undefined> {
  const stored = await database.get(metaKey);
  return stored && decodeMeta(stored);
}

interface Readable {
  readonly index: ObjectIndex;
  readonly revision: number;
  readonly records: number;
  readonly damagedRecords: number;
}

/** Reads the last readable version of every object, and passes each readable record to `onRecord`. */
async function readRecords(
  database: Database,
  onRecord: (record: DecodedRecord) => void,
): Promise<Readable> {
  const index = new ObjectIndex();
  let revision = 0;
  let records = 0;
  let damagedRecords = 0;
  const iterator = database.iterator({ gte: metaKey, lt: logEnd });
  try {
    for (;;) {
      const entries = await iterator.nextv(chunkRecords);
      if (entries.length === 0) return { index, revision, records, damagedRecords };
      for (const [key, bytes] of entries) {
        if (key.equals(metaKey)) continue;
        const record = readable(key, bytes);
        if (!record) {
          damagedRecords += 1;
          continue;
        }
        const table = index.table(record.kind);
        if (record.type === 'DELETED') table.delete(record.key);
        else table.set(new LazyObject(record.key, record, record.json));
        revision = Math.max(revision, record.revision);
        records += 1;
        onRecord(record);
      }
    }
  } finally {
    await iterator.close();
  }
}

/** Decodes a record; undefined if it is damaged. */
function readable(key: Buffer, bytes: Buffer): DecodedRecord | undefined {
  const address = decodeKey(key);
  if (!address) return undefined;
  try {
    return decodeRecord({ ...address, bytes });
  } catch {
    return undefined;
  }
}

interface Parts extends Readable, Required<Pick<SalvageOptions, 'clock' | 'random'>> {
  readonly meta: MetaRecord | undefined;
  readonly damagedFiles: readonly DamagedFile[];
  readonly losses: SalvageLosses;
}

function salvaged({ index, revision, meta, clock, random, ...reported }: Parts): Salvaged {
  const kinds = index.snapshotAll();
  const objects = [...kinds].flatMap(([kind, chunks]) =>
    chunks.flatMap((chunk) =>
      chunk.map(({ key }) => {
        const { namespace, name } = parseKey(key);
        return { kind, namespace, name };
      }),
    ),
  );
  const clusterId = meta && clusterOf(meta);
  const identity = {
    storeId: meta?.storeId ?? random.uuid(),
    clusterId: clusterId ?? random.uuid(),
  };
  const { records, damagedRecords, damagedFiles, losses } = reported;
  return {
    clusterId,
    objects,
    records,
    damagedRecords,
    damagedFiles,
    losses,
    backup: (sink) => writeBackup({ ...identity, revision, kinds, clock }, sink),
  };
}
