import { failedPrecondition, type StatusError } from '../../base/index.js';
import {
  type Checkpoint,
  emptyCheckpoint,
  type EngineRecord,
  type EngineState,
  type Existing,
  type Fill,
  notEmpty,
  type RecordAddress,
  type ReplaceableEngine,
  type Replacement,
  type ScanOptions,
} from './engine.js';

const chunkRecords = 500;

function newState(storeId: string, clusterId = storeId): EngineState {
  return { storeId, clusterId, checkpoint: emptyCheckpoint, highWater: 0 };
}

function inUse(): StatusError {
  return failedPrecondition(
    'DirectoryLocked',
    'this memory engine is open in another store of this process; close that one first, or use one engine per store',
  );
}

/**
 * An engine without a disk, for tests and programs without durable state. Reopening the same instance keeps its
 * records. Like a directory, it has one store at a time.
 */
export class MemoryEngine implements ReplaceableEngine {
  #records: EngineRecord[] = [];
  #state: EngineState | undefined;
  #isOpen = false;

  open(newStoreId: () => string, clusterId?: string): Promise<EngineState> {
    if (this.#isOpen) return Promise.reject(inUse());
    this.#isOpen = true;
    const state = this.#state ?? newState(newStoreId(), clusterId);
    this.#state = state;
    return Promise.resolve(state);
  }

  async *scan(
    revision: number,
    { through = Infinity }: ScanOptions = {},
  ): AsyncIterable<readonly EngineRecord[]> {
    // Continue by address, not by position: records may be dropped between two chunks.
    let after: RecordAddress = { revision, index: Number.MAX_SAFE_INTEGER };
    for (;;) {
      const start = this.#after(after);
      const chunk = this.#records.slice(start, start + chunkRecords);
      const last = chunk.at(-1);
      if (!last || (chunk[0]?.revision ?? 0) > through) return;
      after = last;
      await Promise.resolve();
      yield chunk;
    }
  }

  append(records: readonly EngineRecord[]): Promise<void> {
    const last = this.#records.at(-1);
    for (const record of records) this.#records.push(record);
    // A store appends in order; other callers may not.
    if (last && records[0] && records[0].revision < last.revision) this.#sort();
    else if (!last) this.#sort();
    return Promise.resolve();
  }

  get(address: RecordAddress): Promise<Buffer | undefined> {
    const found = this.#records[this.#after({ ...address, index: address.index - 1 })];
    const same = found?.revision === address.revision && found.index === address.index;
    return Promise.resolve(same ? found.bytes : undefined);
  }

  saveCheckpoint(checkpoint: Checkpoint, superseded: readonly RecordAddress[] = []): Promise<void> {
    if (this.#state) this.#state = { ...this.#state, checkpoint };
    const gone = new Set(superseded.map((a) => `${a.revision}.${a.index}`));
    this.#records = this.#records.filter((r) => !gone.has(`${r.revision}.${r.index}`));
    return Promise.resolve();
  }

  async replace(existing: Existing, fill: Fill): Promise<Replacement> {
    if (this.#isOpen) throw inUse();
    if (existing === 'refuse' && this.#records.length > 0) throw notEmpty();
    const checkpoint = this.#state?.checkpoint.revision ?? 0;
    const fresh = new MemoryEngine();
    await fill(fresh, Math.max(checkpoint, this.#records.at(-1)?.revision ?? 0));
    this.#records = fresh.#records;
    this.#state = fresh.#state;
    return {};
  }

  close(): Promise<void> {
    this.#isOpen = false;
    return Promise.resolve();
  }

  #sort(): void {
    this.#records.sort((a, b) => a.revision - b.revision || a.index - b.index);
  }

  /** Position of the first record after an address. */
  #after(address: RecordAddress): number {
    let low = 0;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const record = this.#records[middle];
      const behind =
        record === undefined ||
        record.revision > address.revision ||
        (record.revision === address.revision && record.index > address.index);
      if (behind) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
