import type { Command } from 'commander';
import { callAndSay } from '../../connection/api.js';

/** `kedge storageclass set-default` */
export function addStorageClass(program: Command): void {
  program
    .command('storageclass')
    .description('act on storage classes')
    .command('set-default')
    .argument('<name>')
    .description('make a class the one that volumes get when they name none')
    .action((name: string) =>
      callAndSay(
        'StorageClassService.SetDefault',
        { name },
        `storageclasses/${name} is the default`,
      ),
    );
}
