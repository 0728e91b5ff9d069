import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Ending of the temporary file of {@link replaceFile}. One may remain after a crash; the next call replaces it. */
export const draftEnding = '.new';

/** Makes names that were created, renamed or removed in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Syncs folders for concurrent callers.
 *
 * Guarantees: the sync of a caller begins after its call, so that it contains what the caller created before. At most
 * one sync of a folder runs at a time; calls meanwhile share the next one. A sync that fails rejects for all its callers.
 */
export class SharedSyncs {
  readonly #sync: (path: string) => Promise<void>;
  /** The sync in progress of each folder. */
  readonly #running = new Map<string, Promise<void>>();
  /** The one that begins after it. */
  readonly #next = new Map<string, Promise<void>>();

  constructor(sync: (path: string) => Promise<void> = syncFolder) {
    this.#sync = sync;
  }

  sync(path: string): Promise<void> {
    const waiting = this.#next.get(path);
    if (waiting) return waiting;
    const running = this.#running.get(path);
    if (!running) return this.#begin(path);
    const begin = (): Promise<void> => {
      this.#next.delete(path);
      return this.#begin(path);
    };
    // The callers of the running sync get its error.
    const next = running.then(begin, begin);
    this.#next.set(path, next);
    return next;
  }

  #begin(path: string): Promise<void> {
    const sync = this.#sync(path).finally(() => this.#running.delete(path));
    this.#running.set(path, sync);
    return sync;
  }
}

/**
 * Replaces a file durably, with mode 0600: after a crash either the old or the complete new file exists. Calls for
 * one path must not overlap.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}${draftEnding}`;
  const file = await open(draft, 'w', 0o600);
  try {
    // An existing draft would keep its mode.
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
  await syncFolder(dirname(path));
}
