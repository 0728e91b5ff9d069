import {
  type Clock,
  demandOptions,
  type Logger,
  portRules,
  type Random,
  withMethods,
} from '../base/index.js';
import type { Engine } from './engine.js';

/** Ports and bounds of a store. */
export interface StoreOptions {
  readonly engine: Engine;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** Events of history to keep; default `limits.historyEvents`. */
  readonly historyEvents?: number;
  /** Age below which history is kept however long it is; default `limits.historyAgeMs`. */
  readonly historyAgeMs?: number;
  /** Encoded bytes of history beyond which it is compacted whatever its age; default `limits.historyBytesMax`. */
  readonly historyBytesMax?: number;
  /**
   * Free bytes on the disk below which only steps of deletions, and kinds with `takenWhenFull`, are
   * written; below half of it only final deletions. Default `limits.freeBytesFloor`.
   */
  readonly freeBytesFloor?: number;
}

const { clock, random, logger } = portRules;
const engine = withMethods(
  'a LevelEngine or a MemoryEngine',
  'open',
  'scan',
  'append',
  'get',
  'saveCheckpoint',
  'close',
);

/** @throws TypeError naming the option, its value and what to give */
export function demandStoreOptions(options: StoreOptions): void {
  demandOptions('openStore', options, { engine, clock, random, logger });
}
