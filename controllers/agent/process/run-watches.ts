import { type FSWatcher, watch as watchFolder } from 'node:fs';

/** Watches the folders of runs for their ends. */
export class RunWatches {
  readonly #ended: (id: string) => void;
  /** The watched folder of a run, by workload. */
  readonly #byWorkload = new Map<
    string,
    { readonly directory: string; readonly watcher: FSWatcher }
  >();

  /** @param ended called with the id of a workload whose run ended, once per run */
  constructor(ended: (id: string) => void) {
    this.#ended = ended;
  }

  /** Watches for the end of a run. False if it is watched already. */
  watch(id: string, directory: string): boolean {
    if (this.#byWorkload.get(id)?.directory === directory) return false;
    this.unwatch(id);
    const watcher = watchFolder(directory, { persistent: false }, (_event, file) => {
      if (file !== 'exit') return;
      this.unwatch(id);
      this.#ended(id);
    });
    watcher.on('error', () => this.unwatch(id));
    this.#byWorkload.set(id, { directory, watcher });
    return true;
  }

  /** Whether a run of the workload is watched: its end was not observed. */
  has(id: string): boolean {
    return this.#byWorkload.has(id);
  }

  unwatch(id: string): void {
    this.#byWorkload.get(id)?.watcher.close();
    this.#byWorkload.delete(id);
  }

  close(): void {
    for (const id of [...this.#byWorkload.keys()]) this.unwatch(id);
  }
}
