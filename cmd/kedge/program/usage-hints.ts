import type { Command } from 'commander';
import { nearest } from '../../near-miss.js';

/** The words that start the command, such as `kedge volume resize`. */
function pathOf(command: Command): string {
  const above = command.parent;
  return above ? `${pathOf(above)} ${command.name()}` : command.name();
}

function all(command: Command): readonly Command[] {
  return command.commands.flatMap((each) => [each, ...all(each)]);
}

const namesOf = (command: Command): readonly string[] => [command.name(), ...command.aliases()];

/**
 * The commands that an unknown name of a group may stand for: those of this name, else those of a near name in the group,
 * else those of a near name in any group.
 */
function meantBy(unknown: string, group: Command, program: Command): readonly string[] {
  const commands = all(program);
  const named = (name: string | undefined, among: readonly Command[]): readonly Command[] =>
    among.filter((each) => name !== undefined && namesOf(each).includes(name));
  const near = (among: readonly Command[]): readonly Command[] =>
    named(nearest(unknown, among.flatMap(namesOf)), among);
  const found = [named(unknown, commands), near(group.commands), near(commands)];
  return (found.find((each) => each.length > 0) ?? []).map(pathOf).sort();
}

function explained(text: string, command: Command, program: Command): string {
  const unknown = /^error: unknown command '(.+)'/.exec(text)?.[1];
  if (unknown === undefined)
    return text.startsWith('error:')
      ? `${text}Usage: ${pathOf(command)} ${command.usage()}\n`
      : text;
  const meant = meantBy(unknown, command, program);
  const hint =
    meant.length > 0
      ? `Did you mean ${meant.join(' or ')}?`
      : `${pathOf(command)} --help lists the commands`;
  // The first line; commander's own suggestion knows only the commands of the group.
  return `${text.split('\n', 1).join('')}\n${hint}\n`;
}

/**
 * Adds the remedy to the errors of invalid command lines: the usage of the command, or the commands that an unknown
 * name may stand for, also those of other groups. Call it once the program has all of its commands.
 */
export function addUsageHints(program: Command): void {
  for (const command of [program, ...all(program)])
    command.configureOutput({
      outputError: (text, write) => {
        write(explained(text, command, program));
      },
    });
}
