import { join } from 'node:path';
import type { FileSystem } from './file-system.js';

/**
 * A file that exists from the start of an opening of the database until every record was read once, or the engine was
 * closed. Usually it is left over because the process died meanwhile.
 */
export class OpeningMark {
  readonly #files: FileSystem;
  readonly #path: string;
  #set = false;

  constructor(files: FileSystem, directory: string) {
    this.#files = files;
    this.#path = join(directory, 'opening');
  }

  /**
   * Creates the file. If it exists already, an opening was aborted, and `check` runs first: LevelDB aborts the process
   * on some damaged tables, so `check` reads every block.
   */
  async set(check: () => Promise<void>): Promise<void> {
    const diedOpening = await this.#files.exists(this.#path);
    if (diedOpening) await check();
    // On a full disk there may be no mark. Then an abort can't be explained; nothing else is lost.
    this.#set = await this.#files.open(this.#path, 'w').then(
      (file) => file.close().then(() => true),
      () => diedOpening,
    );
  }

  async remove(): Promise<void> {
    if (!this.#set) return;
    this.#set = false;
    await this.#files.remove(this.#path);
  }
}
