import { CommanderError } from 'commander';
import { note } from '../output/output.js';

/** An invalid command line: reported at once, with exit code 2. */
export function usageError(text: string): CommanderError {
  note(`error: ${text}`);
  return new CommanderError(2, 'kedge.usage', text);
}
