import type { Command } from 'commander';
import { installation } from '../../installation.js';

/** A command line with its description. */
export interface Example {
  /** A shell command line that calls `kedge`. */
  readonly line: string;
  readonly about: string;
}

/** The examples as a part of a help text. */
function helpOf(examples: readonly Example[]): string {
  const { kedge, examples: files } = installation();
  const lines = examples.map(
    ({ line, about }) =>
      `  # ${about}\n  ${line.replaceAll(/\bkedge /g, `${kedge} `).replaceAll('docs/examples', () => files)}`,
  );
  return `\nExamples:\n${lines.join('\n')}`;
}

const examplesByCommand = new WeakMap<Command, readonly Example[]>();

/** Adds examples to a command, for its help and the reference page. */
export function withExamples(
  command: Command,
  ...pairs: readonly (readonly [line: string, about: string])[]
): Command {
  const examples = pairs.map(([line, about]) => ({ line, about }));
  examplesByCommand.set(command, examples);
  return command.addHelpText('after', () => helpOf(examples));
}

/** The examples of a command. */
export function examplesOf(command: Command): readonly Example[] {
  return examplesByCommand.get(command) ?? [];
}

/** Adds to the help of each group of commands below a command the first example of each of its commands. */
export function addGroupExamples(command: Command): void {
  for (const group of command.commands.filter(({ commands }) => commands.length > 0)) {
    addGroupExamples(group);
    group.addHelpText('after', () =>
      helpOf(group.commands.flatMap((each) => examplesOf(each).slice(0, 1))),
    );
  }
}
