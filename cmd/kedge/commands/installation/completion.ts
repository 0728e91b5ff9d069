import { Argument, type Command } from 'commander';
import { printableLine } from '../../../terminal-text.js';
import { print } from '../../output/output.js';
import { candidates } from '../../program/candidates.js';
import { withExamples } from '../../program/examples.js';
import { completionScript, type Shell } from '../../program/shells.js';

async function complete(root: Command, words: readonly string[]): Promise<void> {
  // Names with terminal control characters are omitted.
  for (const { word, about } of await candidates(root, words))
    if (printableLine(word) === word) print(`${word}\t${printableLine(about)}`.trimEnd());
}

/** Adds `kedge completion bash|zsh|fish`. */
export function addCompletion(program: Command): void {
  const command = program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .description('print a script that completes commands, options, types and names in a shell')
    .addHelpText(
      'after',
      '\nNames are requested from the server as you type. If it does not answer quickly, no names are offered.',
    )
    .action((shell: Shell) => print(completionScript(shell).trimEnd()));
  withExamples(
    command,
    [
      'source <(kedge completion bash)',
      'In bash, for this shell; add the line to ~/.bashrc for all shells',
    ],
    [
      'source <(kedge completion zsh)',
      'In zsh, after compinit; add the line to ~/.zshrc for all shells',
    ],
    ['kedge completion fish > ~/.config/fish/completions/kedge.fish', 'In fish, for all shells'],
  );
  // Called by the completion scripts: the words after "kedge", the last one under the cursor.
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action((words: string[]) => complete(program, words));
}
