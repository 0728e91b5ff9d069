import { randomBytes } from 'node:crypto';
import { access, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep, systemClock } from 'kedge';
import type { WorkloadPort } from '../machine.js';

interface Running {
  readonly uid: string;
  readonly target: string;
  /** Settles when the workload has stopped writing. */
  readonly ended: Promise<void>;
  stopping: boolean;
}

/** A record as written: of one length, so that it is overwritten in place. */
const width = 16;
const pauseMs = 5;
/** Makes a copy take some time. */
const ballastBytes = 12 * 1024 * 1024;
/** A longer write hangs, unless no running daemon could thaw the file system. */
const writeMsMax = 30_000;

/** Files of the two places of a record. */
export const places = ['first', 'second'] as const;

async function put(path: string, record: number): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.write(String(record).padStart(width), 0);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function prepare(target: string): Promise<void> {
  const isThere = await access(join(target, 'ballast')).then(
    () => true,
    () => false,
  );
  if (isThere) return;
  for (const place of places) await writeFile(join(target, place), '0'.padStart(width));
  await writeFile(join(target, 'ballast'), randomBytes(ballastBytes));
}

/** Writers of records below mounted directories in this process, which survives the daemon. */
export class RealWorkloads implements WorkloadPort {
  /** Violations. */
  readonly wrongs: string[] = [];
  readonly running = new Map<string, Running>();
  readonly #ending = new Map<string, Promise<void>>();
  readonly #acknowledged = new Map<string, number>();
  readonly #isAlive: () => boolean;

  /** @param isAlive whether a daemon is running */
  constructor(isAlive: () => boolean) {
    this.#isAlive = isAlive;
  }

  acknowledged(uid: string): number {
    return this.#acknowledged.get(uid) ?? 0;
  }

  begins(uid: string, records: number): void {
    if (!this.#acknowledged.has(uid)) this.#acknowledged.set(uid, records);
  }

  start(claim: string, uid: string, target: string): void {
    if (this.running.get(claim)?.uid === uid) return;
    const other = [...this.running].find(([, running]) => running.uid === uid);
    if (other) this.wrongs.push(`${claim} writes to ${uid} beside ${other[0]}`);
    const running: Running = { uid, target, stopping: false, ended: Promise.resolve() };
    const ended = this.#write(running).catch((error: unknown) => {
      this.wrongs.push(`${claim} can't write to ${uid}: ${String(error)}`);
    });
    this.running.set(claim, Object.assign(running, { ended }));
  }

  async #write(running: Running): Promise<void> {
    const { uid, target } = running;
    await prepare(target);
    while (!running.stopping) {
      const record = this.acknowledged(uid) + 1;
      for (const place of places) await this.#timed(uid, put(join(target, place), record));
      this.#acknowledged.set(uid, record);
      await sleep(systemClock, pauseMs);
    }
  }

  async #timed(uid: string, write: Promise<void>): Promise<void> {
    let left = writeMsMax;
    const over = new AbortController();
    const watch = async (): Promise<void> => {
      while (left > 0 && !over.signal.aborted) {
        await sleep(systemClock, 1_000, over.signal);
        if (this.#isAlive()) left -= 1_000;
      }
      if (!over.signal.aborted) this.wrongs.push(`a write to ${uid} hangs`);
    };
    void watch();
    await write.finally(() => over.abort());
  }

  stop(claim: string): Promise<void> {
    const running = this.running.get(claim);
    if (!running) return this.#ending.get(claim) ?? Promise.resolve();
    running.stopping = true;
    this.running.delete(claim);
    this.#ending.set(claim, running.ended);
    return running.ended;
  }
}
