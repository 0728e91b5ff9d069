import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '@kedge/driver-sdk';

const idPattern = /^[0-9a-f]{64}$/;

/** A command that Kedge started in a container. */
export interface CommandRecord {
  /** Id of the command (exec) at the engine. */
  readonly id: string;
  /** Id of its container. */
  readonly container: string;
}

/**
 * Records of the commands inside containers, one file per command. A record is written before the command starts and
 * removed after its end, so that the records of an earlier process name the commands that may still run.
 */
export class CommandRecords {
  readonly #directory: string;
  /** Commands of this process whose output it reads. */
  readonly #own = new Set<string>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  async add({ id, container }: CommandRecord): Promise<void> {
    this.#own.add(id);
    await makeDirectory(this.#directory, 0o700);
    await writeFile(this.#file(id), `${container}\n`, { mode: 0o600 });
  }

  async remove(id: string): Promise<void> {
    await rm(this.#file(id), { force: true });
    this.#own.delete(id);
  }

  /** Keeps the record of a command that this process gave up: it counts as one of an earlier process. */
  release(id: string): void {
    this.#own.delete(id);
  }

  /** Commands of earlier processes, and those that this one gave up. */
  async left(): Promise<readonly CommandRecord[]> {
    const names = await readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const ids = names.filter((name) => idPattern.test(name) && !this.#own.has(name));
    return Promise.all(
      ids.map(async (id) => ({ id, container: (await readFile(this.#file(id), 'utf8')).trim() })),
    );
  }

  #file(id: string): string {
    if (!idPattern.test(id)) throw new TypeError(`${id} is not the id of a command`);
    return join(this.#directory, id);
  }
}
