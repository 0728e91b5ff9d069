import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '@kedge/driver-sdk';

const idPattern = /^[0-9a-f-]{36}$/;

async function readText(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function readNumber(file: string): Promise<number | undefined> {
  const number = Number(await readText(file));
  return Number.isSafeInteger(number) ? number : undefined;
}

/**
 * The node's records of its containers, readable without the engine, one folder per workload: the workloads that may
 * exist, the number of their last run, whether the outcome of its start is known, the boot of the machine in which a
 * run was started, when a stop of a run was requested, whether a run reached its memory limit, and whether its end was
 * handled as unexplained. A run and a stop request are recorded before the call to the engine, an outcome after it.
 */
export class ContainerRecords {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  #folder(id: string): string {
    if (!idPattern.test(id)) throw new TypeError(`${id} is not a workload id`);
    return join(this.#directory, id);
  }

  /** All workloads that may have a container. */
  async workloads(): Promise<readonly string[]> {
    const names = await readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names.filter((name) => idPattern.test(name));
  }

  /** Number of the last started run; 0 for none. */
  async lastRun(id: string): Promise<number> {
    return (await readNumber(join(this.#folder(id), 'last-run'))) ?? 0;
  }

  /**
   * Records a run before its start. Removes the records of the stops, ends and boots of all runs except the previous one.
   */
  async begin(id: string, run: number, bootId: string): Promise<void> {
    const folder = this.#folder(id);
    await makeDirectory(folder, 0o700);
    for (const name of await readdir(folder))
      if (/^(stop|memory|killed|boot)-/.test(name) && !name.endsWith(`-${run - 1}`))
        await rm(join(folder, name), { force: true });
    await this.#write(join(folder, `boot-${run}`), bootId);
    await this.#write(join(folder, 'last-run'), run);
  }

  /** The boot in which a run was started; undefined for a run of an earlier release. */
  bootOf(id: string, run: number): Promise<string | undefined> {
    return readText(join(this.#folder(id), `boot-${run}`));
  }

  /** Records that the start of a run succeeded or failed permanently. */
  settled(id: string, run: number): Promise<void> {
    return this.#write(join(this.#folder(id), 'settled-run'), run);
  }

  /** The last run, if the outcome of its start is not recorded; otherwise undefined. */
  async unsettledRun(id: string): Promise<number | undefined> {
    const run = await this.lastRun(id);
    const settled = await readNumber(join(this.#folder(id), 'settled-run'));
    return run === 0 || settled === run ? undefined : run;
  }

  /** Time of the stop request of a run, milliseconds since the epoch; undefined without one. */
  stopAskedAt(id: string, run: number): Promise<number | undefined> {
    return readNumber(join(this.#folder(id), `stop-${run}`));
  }

  /** Records the stop request of a run before it is sent. */
  async askedToStop(id: string, run: number, now: number): Promise<void> {
    const folder = this.#folder(id);
    await makeDirectory(folder, 0o700);
    await this.#write(join(folder, `stop-${run}`), now);
  }

  /**
   * The latest recorded time at which a run reached its memory limit, milliseconds since the epoch; undefined if none is
   * recorded.
   */
  memoryLimitAt(id: string, run: number): Promise<number | undefined> {
    return readNumber(join(this.#folder(id), `memory-${run}`));
  }

  /**
   * Records that a run reached its memory limit, because the engine forgets it. The workload may have been removed
   * meanwhile.
   * @param at milliseconds since the epoch, a whole number
   * @throws Error ENOENT if there are no records of the workload
   */
  memoryLimitReached(id: string, run: number, at: number): Promise<void> {
    return this.#write(join(this.#folder(id), `memory-${run}`), at);
  }

  /** The end of a run that {@link killedUnexplained} recorded, milliseconds since the epoch; otherwise undefined. */
  unexplainedKillAt(id: string, run: number): Promise<number | undefined> {
    return readNumber(join(this.#folder(id), `killed-${run}`));
  }

  /**
   * Records that a run was killed and that its end was handled without a cause.
   * @param at its end, milliseconds since the epoch, a whole number
   * @throws Error ENOENT if there are no records of the workload
   */
  killedUnexplained(id: string, run: number, at: number): Promise<void> {
    return this.#write(join(this.#folder(id), `killed-${run}`), at);
  }

  /** Removes the records of a workload. */
  async remove(id: string): Promise<void> {
    await rm(this.#folder(id), { recursive: true, force: true });
  }

  async #write(file: string, value: number | string): Promise<void> {
    const fresh = `${file}.new`;
    await writeFile(fresh, `${value}\n`, { mode: 0o600 });
    await rename(fresh, file);
  }
}
