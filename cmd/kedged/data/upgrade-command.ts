import { tmpdir } from 'node:os';
import type { Command } from 'commander';
import { counted, type EmbeddedStore, rehearseUpgrade, type UpgradeReport } from 'kedge';
import { orElsewhere, orOnline, requireStore, withStore } from '../data/data-commands.js';
import { keyFileName } from '../config/key-file.js';
import { type ConfigOptions, loadConfig, withSettings } from '../config/load-config.js';

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

const whileRunning =
  'stop kedged first, which ends its workloads, or end it with SIGKILL, which leaves them running (systemd starts it again at once); or try the upgrade on a copy: kedge admin backup FILE, then kedged restore FILE --as-copy --data-directory DIRECTORY';

/**
 * Writes the built-in objects of this release, as the daemon does at every start. Returns the objects that were
 * changed.
 */
async function writeBuiltIn(store: EmbeddedStore): Promise<readonly string[]> {
  // Imported here, so that the daemon does not load them before it opens its store.
  const { policies, seedPolicies } = await import('kedge/server');
  const { accessPolicies, namespaces, seedClasses, seedNamespaces, storageClasses } = await import(
    '@kedge/controllers'
  );
  const before = store.revision;
  await seedPolicies(store, accessPolicies);
  await seedNamespaces(store);
  await seedClasses(store);
  const written: string[] = [];
  for (const kind of [policies, namespaces, storageClasses])
    for (const { name, metadata } of (await store.list(kind)).items)
      if (Number(metadata.resourceVersion) > before) written.push(`${kind.plural}/${name}`);
  return written;
}

/** The changes of an upgrade, one per line. */
function upgradeLines(
  directory: string,
  report: UpgradeReport,
  written: readonly string[],
): readonly string[] {
  const { from, to, changes, records, removedRecords, objects, revision, copy } = report;
  const lines: string[] = [
    from === to
      ? `${directory} has schema version ${from}, the version of this release: no migration is needed`
      : `${directory} has schema version ${from}; the first start of this release migrates it to version ${to}:`,
  ];
  if (copy) {
    const free = copy.free === undefined ? '' : `, ${copy.free} are free`;
    lines.push(
      `  copies ${copy.names.join(', ')} to ${copy.path}: needs ${counted(copy.needed, 'byte')}${free}`,
      ...changes.map((change) => `  schema version ${change}`),
      `  removes ${removedRecords} of ${counted(records, 'record')}; ${counted(objects, 'object stays', 'objects stay')} unchanged, at revision ${revision}`,
    );
  }
  lines.push(
    written.length === 0
      ? '  writes no built-in objects: the stored ones are those of this release'
      : `  writes ${counted(written.length, 'built-in object')}: ${written.join(', ')}`,
  );
  return lines;
}

async function upgrade(
  { dryRun }: { readonly dryRun?: boolean },
  options: ConfigOptions,
): Promise<void> {
  const config = await loadConfig(options);
  const { dataDirectory } = config;
  await requireStore(dataDirectory);
  if (!dryRun) {
    const { objects, revision } = await withStore(config, whileRunning, (store) => store.verify());
    return say(
      `${dataDirectory} is upgraded and intact: ${counted(objects, 'object')}, revision ${revision}`,
    );
  }
  let written: readonly string[] = [];
  const rehearsal = rehearseUpgrade(
    dataDirectory,
    { scratch: tmpdir(), copiedBeforeMigration: [keyFileName] },
    async (store) => {
      written = await writeBuiltIn(store);
    },
  );
  const report = await rehearsal.catch((error: unknown) => {
    throw orElsewhere(orOnline(error, whileRunning));
  });
  for (const line of upgradeLines(dataDirectory, report, written)) say(line);
  say('Nothing was changed: the upgrade ran on a copy, which was removed.');
}

/** `kedged upgrade [--dry-run]`, on the data directory of a stopped daemon. */
export function addUpgradeCommand(program: Command): void {
  withSettings(program.command('upgrade'))
    .option('--dry-run', 'print the changes without applying them')
    .description('migrate the store of an earlier release, as the first start of the daemon does')
    .action((flags: { readonly dryRun?: boolean }, command: Command) =>
      upgrade(flags, command.optsWithGlobals()),
    );
}
