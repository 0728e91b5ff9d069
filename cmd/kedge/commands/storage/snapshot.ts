import type { Command } from 'commander';
import { callAndSay } from '../../connection/api.js';

interface SnapshotOptions {
  readonly namespace: string;
}

/** `kedge snapshot create|restore|retry` */
export function addSnapshot(program: Command): void {
  const snapshot = program
    .command('snapshot')
    .description('copy volumes, and make volumes of copies');
  snapshot
    .command('create')
    .argument('<name>')
    .requiredOption('--volume <name>', 'the volume to copy')
    .description('copy a volume as it is now')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((name: string, { namespace, volume }: SnapshotOptions & { readonly volume: string }) =>
      callAndSay(
        'SnapshotService.Create',
        { namespace, snapshot: { name, source: { volume } } },
        `snapshots/${name} created`,
      ),
    );
  snapshot
    .command('restore')
    .argument('<name>')
    .requiredOption('--to <volume>', 'name of the new volume')
    .description('make a new volume with the content of a snapshot')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('--to-namespace <name>', "namespace of the new volume; default: the snapshot's")
    .option('--size <quantity>', "size of the new volume; default: the snapshot's")
    .option('--storage-class <name>', "class of the new volume; default: the source's")
    .action(
      (
        name: string,
        options: SnapshotOptions & {
          readonly to: string;
          readonly size?: string;
          readonly storageClass?: string;
          readonly toNamespace?: string;
        },
      ) =>
        callAndSay(
          'SnapshotService.Restore',
          {
            namespace: options.namespace,
            name,
            volume: {
              name: options.to,
              namespace: options.toNamespace ?? '',
              size: options.size ?? '',
              storageClassName: options.storageClass ?? '',
            },
          },
          `volumes/${options.to} created from snapshots/${name}`,
        ),
    );
  snapshot
    .command('retry')
    .argument('<name>')
    .description('try a Failed snapshot again now')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((name: string, { namespace }: SnapshotOptions) =>
      callAndSay('SnapshotService.Retry', { namespace, name }, `snapshots/${name} is tried again`),
    );
}
