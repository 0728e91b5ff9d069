import { CommanderError } from 'commander';
import { note } from './output.js';

/** Prints the error of an invalid command line. Returns the error that ends the program with exit code 2. */
export function usageError(text: string): CommanderError {
  note(`error: ${text}`);
  return new CommanderError(2, 'kedge.usage', text);
}
