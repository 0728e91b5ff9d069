import { type Clock, limits, TimeShare } from '../../base/index.js';
import { compactLog, type CompactionStep } from './compaction.js';
import type { Checkpoint, Engine, RecordAddress } from '../engine/engine.js';
import type { StoreOptions } from '../contract/store-options.js';

/** Dependencies and initial state of a {@link LogHistory}. */
export interface LogHistoryOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly bounds: Pick<StoreOptions, 'historyEvents' | 'historyAgeMs' | 'historyBytesMax'>;
  readonly checkpoint: Checkpoint;
  /** Encoded bytes above the mark. */
  readonly bytes: number;
  /** Superseded records below the mark. */
  readonly garbage: readonly RecordAddress[];
  /** Runs before records below a mark are dropped: reads from there must end. */
  readonly onCompacting: (revision: number) => void;
  /** Called if a step could not be written. Whether the disk has it is known only after the log was reopened. */
  readonly onFailure: (cause: unknown) => void;
}

/** The kept history of the log: the compaction mark and the records on both sides. */
export class LogHistory {
  readonly #options: LogHistoryOptions;
  #checkpoint: Checkpoint;
  #bytes: number;
  #garbage: readonly RecordAddress[];
  /** The step that is being written, or whose outcome is unknown. */
  #step: CompactionStep | undefined;

  constructor(options: LogHistoryOptions) {
    this.#options = options;
    this.#checkpoint = options.checkpoint;
    this.#bytes = options.bytes;
    this.#garbage = options.garbage;
  }

  /** The durable mark. */
  get checkpoint(): Checkpoint {
    return this.#checkpoint;
  }

  /** The marks that the disk may have: more than one after a failed step. */
  get possibleMarks(): readonly Checkpoint[] {
    return this.#step ? [this.#checkpoint, this.#step.checkpoint] : [this.#checkpoint];
  }

  /** Counts encoded bytes that were written. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Drops history beyond the limits, up to revision `to`. */
  compact(to: number, signal: AbortSignal): Promise<void> {
    const { engine, clock, bounds } = this.#options;
    return compactLog({
      engine,
      from: this.#checkpoint,
      garbage: this.#garbage,
      to,
      keepEvents: bounds.historyEvents ?? limits.historyEvents,
      olderThan: clock.now() - (bounds.historyAgeMs ?? limits.historyAgeMs),
      historyBytes: this.#bytes,
      historyBytesMax: bounds.historyBytesMax ?? limits.historyBytesMax,
      share: new TimeShare(clock, limits.compactionTimeShare, signal),
      signal,
      save: (step) => this.#save(step),
    });
  }

  async #save(step: CompactionStep): Promise<void> {
    this.#options.onCompacting(step.checkpoint.revision);
    this.#step = step;
    try {
      await this.#options.engine.saveCheckpoint(step.checkpoint, step.superseded);
    } catch (error) {
      this.#options.onFailure(error);
      throw error;
    }
    this.#passed(step);
  }

  /** Sets the outcome of a failed step according to `mark`, the mark of the reopened log. */
  settle(mark: Checkpoint): void {
    if (this.#step && mark.revision > this.#checkpoint.revision) this.#passed(this.#step);
    this.#step = undefined;
  }

  #passed({ checkpoint, bytes }: CompactionStep): void {
    this.#checkpoint = checkpoint;
    this.#bytes -= bytes;
    this.#garbage = [];
    this.#step = undefined;
  }
}
