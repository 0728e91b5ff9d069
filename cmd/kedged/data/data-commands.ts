import { realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import {
  backupToFile,
  counted,
  type EmbeddedStore,
  failedPrecondition,
  invalid,
  LevelEngine,
  messageOf,
  salvageStore,
  StatusError,
} from 'kedge';
import { daemonLogger } from '../telemetry/daemon-logger.js';
import { makeDataDirectory, openDataDirectory } from './data-directory.js';
import { isPresent } from '../config/is-present.js';
import { findKeys, keyFileName, keyPlace, loadKeys } from '../config/key-file.js';
import { type ConfigOptions, loadConfig, withSettings } from '../config/load-config.js';
import { foundLines, lossLines } from './salvage-report.js';
import type { DaemonConfig } from '../config/settings.js';
import { reportMigration } from './report-migration.js';

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function keySource({ dataDirectory, kekFile }: DaemonConfig): [string, string, string | undefined] {
  return [dataDirectory, kekFile, process.env.KEDGE_KEK];
}

/**
 * Refuses a directory without a store: opening would create one.
 * @throws StatusError FailedPrecondition (NoStore); Unavailable as {@link isPresent}
 */
export async function requireStore(directory: string): Promise<void> {
  // After a restore that was interrupted after its commit, only `restored` exists.
  for (const name of ['db', 'restored']) if (await isPresent(join(directory, name))) return;
  throw failedPrecondition(
    'NoStore',
    `${directory} contains no store; set the directory of the store with --data-directory or --config`,
  );
}

/** Adds the command for a running daemon to the error of a held lock. */
export function orOnline(error: unknown, online: string): unknown {
  if (!(error instanceof StatusError) || error.reason !== 'DirectoryLocked') return error;
  return failedPrecondition(error.reason, `${messageOf(error)}. While it runs: ${online}`);
}

/** Adds the required flag to the error of a restore over a store. */
function orReplace(error: unknown, directory: string): unknown {
  if (!(error instanceof StatusError)) return error;
  if (error.reason === 'RevisionUnknown')
    return failedPrecondition(
      error.reason,
      `the last revision of the store in ${directory} can't be read; set a revision that it did not reach: --after-revision N. Use the last resourceVersion that a client has read, or a much larger number`,
    );
  if (error.reason !== 'NotEmpty') return error;
  return failedPrecondition(
    error.reason,
    `${directory} already contains a store, and nothing was changed; restore into another directory (--data-directory), or use --replace, which keeps the existing store in another directory`,
  );
}

/**
 * Adds a remedy to the error of a lock that is not available, for example on a read-only disk. Returns any other error
 * unchanged.
 */
export function orElsewhere(error: unknown): unknown {
  if (!(error instanceof StatusError) || error.reason !== 'LockUnavailable') return error;
  return new StatusError({
    code: 'Unavailable',
    reason: error.reason,
    message: `${messageOf(error)}. Or copy the directory to another disk (cp -a) while no daemon runs, and use the copy with --data-directory`,
  });
}

/**
 * Rejects a backup file in the data directory: it would be lost with the directory, and may overwrite a file of the
 * store.
 */
async function requireOutside(dataDirectory: string, file: string): Promise<void> {
  const data = await realpath(dataDirectory);
  const named = dirname(file);
  const cannot = (why: string): StatusError =>
    invalid([
      {
        field: 'file',
        description: `${file} can't be written: ${why}; create the directory, or use a file in an existing one`,
      },
    ]);
  const folder = await realpath(named).catch((error: unknown) => {
    throw cannot(`${named} can't be found (${messageOf(error)})`);
  });
  if (!(await stat(folder)).isDirectory()) throw cannot(`${named} is not a directory`);
  const way = relative(data, folder);
  if (way === '..' || way.startsWith(`..${sep}`)) return;
  throw invalid([
    {
      field: 'file',
      description: `${file} is in the data directory ${dataDirectory} and would be lost with it; use a file elsewhere, preferably on another disk`,
    },
  ]);
}

/**
 * Opens the store of a stopped daemon for `work`, and closes it afterwards. Migrates and reports the store of an
 * earlier release.
 * @param online advice for the error when a daemon has the store open
 * @throws StatusError FailedPrecondition (NoStore, DirectoryLocked); errors of `work`
 */
export async function withStore<T>(
  { dataDirectory }: DaemonConfig,
  online: string,
  work: (store: EmbeddedStore) => Promise<T>,
): Promise<T> {
  await requireStore(dataDirectory);
  const store = await openDataDirectory(dataDirectory, daemonLogger('warn')).catch(
    (error: unknown) => {
      throw orElsewhere(orOnline(error, online));
    },
  );
  try {
    reportMigration(store);
    return await work(store);
  } finally {
    await store.close();
  }
}

async function backup(file: string, options: ConfigOptions): Promise<void> {
  const config = await loadConfig(options);
  await requireStore(config.dataDirectory);
  await requireOutside(config.dataDirectory, file);
  const report = await withStore(config, `kedge admin backup ${file}`, (store) =>
    backupToFile(store, file),
  );
  say(
    `${file}: ${counted(report.objects, 'object')} at revision ${report.revision}, ${counted(report.bytes, 'byte')}`,
  );
  say(
    `The backup does not contain the key-encryption key: also keep ${keyPlace(...keySource(config))}, in another place.`,
  );
}

async function verify(file: string | undefined, options: ConfigOptions): Promise<void> {
  const config = await loadConfig(options);
  if (file === undefined) {
    const online = 'create a backup with "kedge admin backup FILE" and verify it';
    const { objects, records, revision } = await withStore(config, online, (store) =>
      store.verify(),
    );
    say(
      `${config.dataDirectory} is intact: ${counted(objects, 'object')}, ${counted(records, 'record')}, revision ${revision}`,
    );
    return;
  }
  const keys = await findKeys(...keySource(config));
  const { checkBackup } = await import('@kedge/controllers');
  const found = await checkBackup(file, keys);
  const { objects, revision, createdAt, clusterId, openedValues } = found;
  say(
    `${file} is intact: ${counted(objects, 'object')} at revision ${revision} of cluster ${clusterId}, created ${createdAt}`,
  );
  say(
    openedValues === undefined
      ? `There is no key-encryption key at ${keys.place}: the sealed values were not checked.`
      : `The key-encryption key at ${keys.place} opens all of its sealed values (${openedValues}).`,
  );
}

interface RestoreFlags {
  readonly replace?: boolean;
  readonly asCopy?: boolean;
  readonly afterRevision?: number;
}

function revisionOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('must be a revision: a whole number, 0 or more');
}

async function restore(file: string, flags: RestoreFlags, options: ConfigOptions): Promise<void> {
  const config = await loadConfig(options);
  const { dataDirectory } = config;
  const keys = await findKeys(...keySource(config));
  await makeDataDirectory(dataDirectory);
  const { restoreData } = await import('@kedge/controllers');
  const restored = restoreData({
    path: file,
    engine: new LevelEngine({ directory: dataDirectory, copiedBeforeMigration: [keyFileName] }),
    keys,
    as: flags.asCopy ? 'copy' : 'original',
    replace: flags.replace ?? false,
    afterRevision: flags.afterRevision,
    // Creates the key even if nothing is sealed: a daemon with a database and no key does not start.
    beforeWriting: async () => {
      await loadKeys(...keySource(config));
    },
  });
  const report = await restored.catch((error: unknown) => {
    throw orReplace(error, dataDirectory);
  });
  const { objects, revision, clusterId, kept } = report;
  say(
    `${dataDirectory}: ${counted(objects, 'object')}, revision ${revision}, cluster ${clusterId}`,
  );
  if (kept !== undefined)
    say(`The previous store is in ${kept}; remove it when it is no longer needed.`);
  say(`The key-encryption key is ${keys.place}.`);
  say(
    flags.asCopy
      ? 'The store is a copy with its own cluster id: it calls no driver for volumes and snapshots of the original. Workloads without volumes also start here.'
      : "The store has the cluster id of the backup. Two daemons with one cluster id destroy each other's data: never start the original again. For a second daemon, restore with --as-copy.",
  );
}

async function salvage(file: string | undefined, options: ConfigOptions): Promise<void> {
  const { dataDirectory } = await loadConfig(options);
  await requireStore(dataDirectory);
  if (file !== undefined) await requireOutside(dataDirectory, file);
  // The scratch directory is not on the damaged disk. The disk of the backup needs the space anyway.
  const scratch = file === undefined ? tmpdir() : dirname(file);
  const found = await salvageStore(dataDirectory, { scratch }).catch((error: unknown) => {
    throw orElsewhere(orOnline(error, `kedge admin backup ${file ?? 'FILE'}`));
  });
  if (file === undefined) for (const name of foundLines(found)) say(name);
  for (const line of lossLines(found)) say(line);
  if (file === undefined) return say('To write them as a backup: kedged salvage FILE');
  const { bytes } = await backupToFile(found, file);
  say(`${file}: ${counted(found.objects.length, 'object')}, ${counted(bytes, 'byte')}`);
  say(
    `To use it: kedged restore ${file} --replace. The restore needs the key-encryption key, which the backup does not contain.`,
  );
}

/** `kedged backup | verify | restore | salvage`, on the data directory of a stopped daemon. */
export function addDataCommands(program: Command): void {
  withSettings(program.command('backup'))
    .argument('<file>', 'the backup file, which is created atomically')
    .description('back up the store of a stopped daemon; of a running one: kedge admin backup')
    .action((file: string, _options: ConfigOptions, command: Command) =>
      backup(file, command.optsWithGlobals()),
    );
  withSettings(program.command('verify'))
    .argument('[file]', 'a backup; without it, the store of a stopped daemon')
    .description('read everything back and compare it with its checksums')
    .action((file: string | undefined, _options: ConfigOptions, command: Command) =>
      verify(file, command.optsWithGlobals()),
    );
  withSettings(program.command('restore'))
    .argument('<file>', 'the backup')
    .option('--replace', 'replace the existing store, which is kept in another directory')
    .option(
      '--as-copy',
      'restore as a separate cluster, which calls no driver for volumes and snapshots of the original',
    )
    .option(
      '--after-revision <n>',
      "a revision that the replaced store did not reach, if its last revision can't be read",
      revisionOf,
    )
    .description('restore a backup, all or nothing; the daemon must be stopped')
    .action((file: string, flags: RestoreFlags, command: Command) =>
      restore(file, flags, command.optsWithGlobals()),
    );
  withSettings(program.command('salvage'))
    .argument('[file]', 'the backup file to write; without it, the objects are listed')
    .description('read the remaining objects of a damaged store; the daemon must be stopped')
    .action((file: string | undefined, _options: ConfigOptions, command: Command) =>
      salvage(file, command.optsWithGlobals()),
    );
}
