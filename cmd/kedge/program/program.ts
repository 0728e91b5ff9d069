import { Command } from 'commander';
import { installation } from '../../installation.js';
import { version } from '../../version.js';
import { commands } from '../commands.js';
import { addGroupExamples } from './examples.js';
import { addUsageHints } from './usage-hints.js';

/** The whole command line; parsing it runs a command. */
export function kedgeProgram(): Command {
  const { kedge, examples } = installation();
  const root = new Command('kedge')
    .description('Kedge: services with durable volumes')
    .exitOverride()
    .version(version, '-V, --version', 'print the version of this program')
    .showSuggestionAfterError()
    .configureHelp({ sortSubcommands: true })
    .addHelpText('after', `\nExample: ${kedge} cast ${examples}/settings.yaml`);
  for (const add of commands) add(root);
  addGroupExamples(root);
  addUsageHints(root);
  return root;
}
