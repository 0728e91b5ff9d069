import type { Command } from 'commander';
import { usageError } from '../output/usage.js';

/** The option that names files as `kedge delete` does. */
export interface FileOptions {
  readonly filename?: readonly string[];
}

const meaning = 'YAML files, directories of YAML files, or - for standard input';

/** Adds the argument `[files...]` and the option `--filename`, which mean the same. */
export function withFiles(command: Command): Command {
  return command
    .argument('[files...]', meaning)
    .option('-f, --filename <files...>', 'the same as the argument');
}

/** The files that a command line names, at least one. Throws CommanderError without one. */
export function filesOf(
  paths: readonly string[],
  { filename = [] }: FileOptions,
): readonly string[] {
  const files = [...paths, ...filename];
  if (files.length === 0)
    throw usageError('no file is given: name files, directories, or - for standard input');
  return files;
}
