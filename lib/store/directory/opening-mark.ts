import { join } from 'node:path';
import type { FileSystem } from './file-system.js';

/** A file that is there from the begin of opening a database until every record was read once. */
export class OpeningMark {
  readonly #files: FileSystem;
  readonly #path: string;
  #set = false;

  constructor(files: FileSystem, directory: string) {
    this.#files = files;
    this.#path = join(directory, 'opening');
  }

  /**
   * LevelDB stops the process on some damaged tables, without a word of ours. So whoever opens after
   * a process that died while it was opening looks at every block first.
   */
  async set(check: () => Promise<void>): Promise<void> {
    const diedOpening = await this.#files.exists(this.#path);
    if (diedOpening) await check();
    // Without a mark (a full disk) an abort stays unexplained, and nothing else is lost.
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
