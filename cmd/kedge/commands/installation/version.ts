import type { Command } from 'commander';
import { version } from '../../../version.js';
import { print } from '../../output/output.js';

/** `kedge version` */
export function addVersion(program: Command): void {
  program
    .command('version')
    .description('tell the version of this program')
    .action(() => print(version));
}
