import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger, messageOf } from 'kedge';
import { isJsonObject } from 'kedge/rpc';

/** A period without the engine, in milliseconds since the epoch. */
export interface Outage {
  readonly from: number;
  /** Undefined while the engine is unavailable. */
  readonly to: number | undefined;
  /** False: the engine was restarted at some time of the period, in which the daemon did not run. */
  readonly observed: boolean;
}

/** The outages of the engine, for later processes of the daemon. */
export interface RecordedOutages {
  /** The last time at which the engine was known to be available, milliseconds since the epoch. */
  readonly seenAt: number;
  /** Oldest first; the last one may not have ended. */
  readonly outages: readonly Outage[];
}

function outageOf(value: unknown): readonly Outage[] {
  if (!isJsonObject(value)) return [];
  const { from, to, observed } = value;
  const isOpen = to === undefined;
  return typeof from === 'number' && (isOpen || typeof to === 'number')
    ? [{ from, to, observed: observed === true }]
    : [];
}

/** The file with the outages of the engine of a node. */
export class OutageRecord {
  readonly #directory: string;
  readonly #logger: Logger;
  #made = false;
  #next: RecordedOutages | undefined;
  #writing: Promise<void> | undefined;

  constructor(directory: string, logger: Logger) {
    this.#directory = directory;
    this.#logger = logger;
  }

  /** The record of an earlier process; undefined if there is none or it is damaged. Logs a file that can't be read. */
  async read(): Promise<RecordedOutages | undefined> {
    try {
      const found = JSON.parse(await readFile(this.#file, 'utf8')) as unknown;
      if (!isJsonObject(found) || typeof found.seenAt !== 'number') return undefined;
      const outages = Array.isArray(found.outages) ? found.outages.flatMap(outageOf) : [];
      return { seenAt: found.seenAt, outages };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#logger.warn(
          'earlier outages of the container engine are unknown, so lines about lost output are missing',
          { error: messageOf(error) },
        );
      return undefined;
    }
  }

  /** Writes the record in the background. If several records wait for a write, only the last one is written. */
  save(recorded: RecordedOutages): void {
    this.#next = recorded;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Resolves when all records are written. */
  async saved(): Promise<void> {
    await this.#writing;
  }

  get #file(): string {
    return join(this.#directory, 'engine-outages.json');
  }

  async #write(): Promise<void> {
    try {
      // Once: a directory that was removed later is not created again.
      if (!this.#made) await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      this.#made = true;
      for (let next = this.#next; next; next = this.#next) {
        this.#next = undefined;
        await writeFile(`${this.#file}.new`, JSON.stringify(next), { mode: 0o600 });
        await rename(`${this.#file}.new`, this.#file);
      }
    } catch (error) {
      this.#logger.warn('outages of the container engine could not be recorded', {
        error: messageOf(error),
      });
    }
  }
}
