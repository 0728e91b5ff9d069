import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '@kedge/driver-sdk';
import { isJsonObject } from 'kedge/rpc';

/** The origin of an image of the node. */
export type ImageOrigin = 'pulled' | 'loaded';

/** An image that Kedge pulled or loaded. */
export interface ImageRecord {
  /** `sha256:...` */
  readonly id: string;
  /** The names that Kedge assigned to it. */
  readonly names: readonly string[];
  readonly origin: ImageOrigin;
  /** Time of the pull, load or last use for a start, milliseconds since the epoch. */
  readonly usedAt: number;
}

const idPattern = /^sha256:[0-9a-f]{64}$/;
const namesMax = 100;

/**
 * Durable records of the images that Kedge pulled or loaded on this node, one file per image. Images without a record
 * belong to other users of the engine and are not pruned.
 */
export class ImageRecords {
  readonly #directory: string;
  /** The last change: changes are serialized, because several workloads may start from one image. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(directory: string) {
    this.#directory = directory;
  }

  #file(id: string): string {
    if (!idPattern.test(id)) throw new TypeError(`${id} is not an image id`);
    return join(this.#directory, `${id.slice('sha256:'.length)}.json`);
  }

  /** All records, the least recently used first. */
  async all(): Promise<readonly ImageRecord[]> {
    const files = await readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const ids = files.flatMap((file) => {
      const id = `sha256:${file.replace(/\.json$/, '')}`;
      return idPattern.test(id) ? [id] : [];
    });
    const records = await Promise.all(ids.map((id) => this.find(id)));
    return records
      .filter((record) => record !== undefined)
      .sort((a, b) => a.usedAt - b.usedAt || (a.id < b.id ? -1 : 1));
  }

  /** The record of an image; undefined for an image of other users, and for a record that is not JSON. */
  async find(id: string): Promise<ImageRecord | undefined> {
    try {
      const read: unknown = JSON.parse(await readFile(this.#file(id), 'utf8'));
      if (!isJsonObject(read)) return undefined;
      const { names, origin, usedAt } = read;
      return {
        id,
        names: Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [],
        origin: origin === 'loaded' ? 'loaded' : 'pulled',
        usedAt: typeof usedAt === 'number' ? usedAt : 0,
      };
    } catch (error) {
      // A record that a full disk truncated must not block the others. Its image is kept.
      if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT')
        return undefined;
      throw error;
    }
  }

  /** Those of some images that have no record: they belong to other users of the engine. */
  async unrecorded(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const own = new Set((await this.all()).map(({ id }) => id));
    return new Set(ids.filter((id) => !own.has(id)));
  }

  /** Records the pull or load of an image under a name. Keeps the origin of an earlier record, and 100 names. */
  brought(id: string, name: string, origin: ImageOrigin, now: number): Promise<void> {
    return this.#inTurn(async () => {
      const before = await this.find(id);
      const names = [...new Set([...(before?.names ?? []), name])].slice(-namesMax);
      await this.#write({ id, names, origin: before?.origin ?? origin, usedAt: now });
    });
  }

  /** Records that a workload was started from an image; no-op for an image of others. */
  used(id: string, now: number): Promise<void> {
    return this.#inTurn(async () => {
      const before = await this.find(id);
      if (before) await this.#write({ ...before, usedAt: now });
    });
  }

  /**
   * Removes the record of an image that was removed.
   * @param usedAt that of the record when the removal was decided: a later pull or load of the image is kept
   */
  forget(id: string, usedAt: number): Promise<void> {
    return this.#inTurn(async () => {
      if ((await this.find(id))?.usedAt !== usedAt) return;
      await rm(this.#file(id), { force: true });
    });
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const next = this.#last.then(step);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #write({ id, ...record }: ImageRecord): Promise<void> {
    await makeDirectory(this.#directory, 0o700);
    const file = this.#file(id);
    await writeFile(`${file}.new`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
}
