import type { Command } from 'commander';
import { callAndSay } from '../../connection/api.js';
import { nameOf } from '../../connection/targets.js';
import { withExamples } from '../../program/examples.js';

/** Adds `kedge storageclass set-default`. */
export function addStorageClass(program: Command): void {
  const command = program
    .command('storageclass')
    .description('manage storage classes')
    .command('set-default')
    .argument('<name>', 'NAME or storageclass/NAME')
    .description('make a class the default of volumes without a class')
    .action((word: string) => {
      const name = nameOf(['StorageClass'], word);
      return callAndSay(
        'StorageClassService.SetDefault',
        { name },
        `storageclasses/${name} is the default`,
      );
    });
  withExamples(command, [
    'kedge storageclass set-default local',
    'Volumes without a class use this one',
  ]);
}
