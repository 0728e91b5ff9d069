import {
  type Clock,
  limits,
  type Logger,
  portRules,
  type Random,
  requireOptions,
  withMethods,
} from '../../base/index.js';
import type { Engine } from '../engine/engine.js';

/** Dependencies and bounds of a store. */
export interface StoreOptions {
  readonly engine: Engine;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** Revisions of history to keep regardless of their age; default `limits.historyEvents`. */
  readonly historyEvents?: number;
  /** Age up to which history is kept regardless of its length; default `limits.historyAgeMs`. */
  readonly historyAgeMs?: number;
  /**
   * Encoded bytes of history beyond which it is compacted regardless of its age and length; default
   * `limits.historyBytesMax`.
   */
  readonly historyBytesMax?: number;
  /**
   * Free bytes on the disk below which only steps of deletions, writes that make an object smaller, and kinds with
   * `takenWhenFull` are written; below half of it (with a reserve: a quarter of the reserve) only final deletions.
   * Default `limits.freeBytesFloor`.
   */
  readonly freeBytesFloor?: number;
  /**
   * Bytes of the floor that are kept allocated on the disk, at most half of it. With them a store opens on a full
   * disk and accepts steps of deletions. Default 0; `limits.reserveBytes` suits the default floor. Only engines on a
   * disk support it.
   */
  readonly reserveBytes?: number;
}

const { clock, random, logger } = portRules;
const numbers = ['historyEvents', 'historyAgeMs', 'historyBytesMax', 'freeBytesFloor'] as const;
const engine = withMethods(
  'a LevelEngine or a MemoryEngine',
  'open',
  'scan',
  'append',
  'get',
  'saveCheckpoint',
  'close',
);

/**
 * Checks the dependencies of a store and its numbers.
 * @throws TypeError that names the option, its value and the expected value
 */
export function requireStoreOptions(options: StoreOptions): void {
  requireOptions('openStore', options, { engine, clock, random, logger });
  for (const name of numbers) {
    const value = options[name] ?? 0;
    if (typeof value !== 'number' || Number.isNaN(value))
      throw new TypeError(`openStore: ${name} is ${String(value)}; give a number, or omit it`);
  }
  const { freeBytesFloor: floor = limits.freeBytesFloor, reserveBytes = 0 } = options;
  if (!Number.isSafeInteger(reserveBytes) || reserveBytes < 0 || reserveBytes > floor / 2)
    throw new TypeError(
      `openStore: reserveBytes is ${reserveBytes}; give a whole number from 0 to ${Math.floor(floor / 2)}, half of freeBytesFloor`,
    );
}
