import type { Command } from 'commander';
import { version } from '../../../version.js';
import { withExamples } from '../../program/examples.js';
import { print } from '../../output/output.js';

/** `kedge version` */
export function addVersion(program: Command): void {
  const command = program
    .command('version')
    .description('tell the version of this program')
    .action(() => print(version));
  withExamples(command, ['kedge version', 'Of this program; kedge status tells that of the nodes']);
}
