import type { Command } from 'commander';
import { version } from '../../../version.js';
import { withExamples } from '../../program/examples.js';
import { print } from '../../output/output.js';

/** Adds `kedge version`. */
export function addVersion(program: Command): void {
  const command = program
    .command('version')
    .description('print the version of this program')
    .action(() => print(version));
  withExamples(command, [
    'kedge version',
    'The version of this program; kedge status shows the versions of the nodes',
  ]);
}
