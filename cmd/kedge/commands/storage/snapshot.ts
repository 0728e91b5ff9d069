import type { Command } from 'commander';
import { withExamples } from '../../program/examples.js';
import { callAndSay } from '../../connection/api.js';
import { nameOf } from '../../connection/targets.js';

interface SnapshotOptions {
  readonly namespace: string;
}

interface CreateOptions extends SnapshotOptions {
  readonly volume: string;
}

interface RestoreOptions extends SnapshotOptions {
  readonly to: string;
  readonly size?: string;
  readonly storageClass?: string;
  readonly toNamespace?: string;
}

async function create(word: string, options: CreateOptions): Promise<void> {
  const name = nameOf(['Snapshot'], word);
  const snapshot = { name, source: { volume: nameOf(['Volume'], options.volume) } };
  const request = { namespace: options.namespace, snapshot };
  await callAndSay('SnapshotService.Create', request, `snapshots/${name} created`);
}

async function restore(word: string, options: RestoreOptions): Promise<void> {
  const name = nameOf(['Snapshot'], word);
  const volume = {
    name: nameOf(['Volume'], options.to),
    namespace: options.toNamespace ?? '',
    size: options.size ?? '',
    storageClassName: options.storageClass ?? '',
  };
  const done = `volumes/${volume.name} created from snapshots/${name}`;
  await callAndSay('SnapshotService.Restore', { namespace: options.namespace, name, volume }, done);
}

async function retry(word: string, { namespace }: SnapshotOptions): Promise<void> {
  const name = nameOf(['Snapshot'], word);
  const done = `snapshots/${name} is being retried`;
  await callAndSay('SnapshotService.Retry', { namespace, name }, done);
}

/** Adds `kedge snapshot create|restore|retry`. */
export function addSnapshot(program: Command): void {
  const snapshot = program
    .command('snapshot')
    .description('create and restore snapshots of volumes');
  withExamples(
    snapshot
      .command('create')
      .argument('<name>', 'NAME or snapshot/NAME')
      .requiredOption('--volume <name>', 'the volume to copy')
      .description('create a snapshot of a volume')
      .option('-n, --namespace <name>', 'namespace', 'default')
      .action((name: string, options: CreateOptions) => create(name, options)),
    [
      'kedge snapshot create before-upgrade --volume data',
      'A snapshot of the current content of a volume',
    ],
  );
  withExamples(
    snapshot
      .command('restore')
      .argument('<name>', 'NAME or snapshot/NAME')
      .requiredOption('--to <volume>', 'name of the new volume')
      .description('restore a snapshot to a new volume')
      .option('-n, --namespace <name>', 'namespace', 'default')
      .option('--to-namespace <name>', "namespace of the new volume; default: the snapshot's")
      .option('--size <quantity>', "size of the new volume; default: the snapshot's")
      .option('--storage-class <name>', "class of the new volume; default: the source's")
      .action((name: string, options: RestoreOptions) => restore(name, options)),
    [
      'kedge snapshot restore before-upgrade --to restored',
      'A new volume with the content of a snapshot',
    ],
  );
  withExamples(
    snapshot
      .command('retry')
      .argument('<name>', 'NAME or snapshot/NAME')
      .description('retry a Failed snapshot now')
      .option('-n, --namespace <name>', 'namespace', 'default')
      .action((name: string, options: SnapshotOptions) => retry(name, options)),
    ['kedge snapshot retry before-upgrade', 'Retry a Failed snapshot'],
  );
}
