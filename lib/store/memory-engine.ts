import type { Engine, EngineState, LogRecord, NewRecord, RecordAddress } from './engine.js';

/** An engine without a disk, for tests and the simulator. Reopening the same instance keeps its records. */
export class MemoryEngine implements Engine {
  #records: LogRecord[] = [];
  #state: EngineState | undefined;

  open(newStoreId: () => string): Promise<EngineState> {
    this.#state ??= { storeId: newStoreId(), compactedRevision: 0, highWater: 0 };
    return Promise.resolve(this.#state);
  }

  async *scan(): AsyncIterable<LogRecord> {
    await Promise.resolve();
    yield* this.#records;
  }

  append(records: readonly NewRecord[]): Promise<void> {
    for (const { encodedObject: _, ...record } of records) this.#records.push(record);
    return Promise.resolve();
  }

  read(revision: number, limit: number): Promise<readonly LogRecord[]> {
    const start = this.#records.findIndex((r) => r.revision > revision);
    if (start < 0) return Promise.resolve([]);
    let end = Math.min(start + limit, this.#records.length);
    const last = this.#records[end - 1]?.revision;
    while (this.#records[end]?.revision === last && end < this.#records.length) end += 1;
    return Promise.resolve(this.#records.slice(start, end));
  }

  markCompacted(revision: number): Promise<void> {
    if (this.#state) this.#state = { ...this.#state, compactedRevision: revision };
    return Promise.resolve();
  }

  drop(addresses: readonly RecordAddress[]): Promise<void> {
    const gone = new Set(addresses.map((a) => `${a.revision}.${a.index}`));
    this.#records = this.#records.filter((r) => !gone.has(`${r.revision}.${r.index}`));
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
