import type { Command } from 'commander';
import { textOf } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { nameOf } from '../../connection/targets.js';
import { print } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';

interface ImportOptions {
  readonly namespace: string;
  readonly class: string;
  readonly handle: string;
  readonly size?: string;
  readonly takeOver?: boolean;
  readonly dryRun?: boolean;
}

/** The daemon calls the provider. */
const timeoutMs = 300_000;

async function importVolume(word: string, options: ImportOptions): Promise<void> {
  const { namespace, handle, size = '', takeOver = false, dryRun = false } = options;
  const name = nameOf(['Volume'], word);
  const storageClassName = nameOf(['StorageClass'], options.class);
  const request = { namespace, name, storageClassName, handle, size, takeOver, dryRun };
  const client = await connect();
  try {
    const volume = await client.call('VolumeService.Import', request, { timeoutMs });
    const done = dryRun ? 'can be imported' : 'imported';
    print(`volumes/${name} ${done}: ${textOf(volume, 'size')}, reclaim policy retain`);
  } finally {
    client.close();
  }
}

/** `kedge volume import NAME --class C --handle H` */
export function addImport(volume: Command): void {
  const command = volume
    .command('import')
    .argument('<name>', 'NAME or volume/NAME of the new object')
    .requiredOption('--class <name>', 'the class whose driver and credential reach the volume')
    .requiredOption(
      '--handle <id>',
      'the id of the volume at the provider; for driver local its path',
    )
    .description(
      'bring an existing volume of a provider under management, with its data; it is never formatted',
    )
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('--size <quantity>', 'only for directories of driver local, which have no size')
    .option(
      '--take-over',
      'also with the mark of another cluster: make sure that it does not use the volume any more',
    )
    .option('--dry-run', 'run all checks, and store nothing')
    .addHelpText(
      'after',
      '\nkedge admin orphans prints this command for each volume without an object.',
    )
    .action((name: string, options: ImportOptions) => importVolume(name, options));
  withExamples(
    command,
    [
      'kedge volume import data --class fast --handle 506f78a4-e098-11e5-ad9f-000f53306ae1',
      'A volume with data that was created elsewhere',
    ],
    [
      'kedge volume import data --class fast --handle 506f78a4-e098-11e5-ad9f-000f53306ae1 --take-over',
      'A volume of a cluster that was lost',
    ],
  );
}
