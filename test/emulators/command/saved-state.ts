import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The state of an emulator in a file, so that volumes survive its restart. */
export class SavedState {
  readonly #path: string;
  #written = '';

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true });
    this.#path = join(directory, 'state.json');
  }

  /** Reads the state; undefined if there is no file. @throws SyntaxError if the file is not JSON */
  read(): unknown {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    this.#written = text;
    return JSON.parse(text);
  }

  /** Writes the state if it has changed. A kill leaves the old or the new one. */
  write(state: unknown): void {
    const text = JSON.stringify(state);
    if (text === this.#written) return;
    writeFileSync(`${this.#path}.new`, text);
    renameSync(`${this.#path}.new`, this.#path);
    this.#written = text;
  }
}
