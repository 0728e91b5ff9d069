import { CommanderError } from 'commander';
import { note } from '../output/output.js';

/** A command line that is not understood: told at once, and the program ends with exit code 2. */
export function usageError(text: string): CommanderError {
  note(`error: ${text}`);
  return new CommanderError(2, 'kedge.usage', text);
}
