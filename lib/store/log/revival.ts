import {
  backoffDelayMs,
  type BackoffOptions,
  type Clock,
  type Logger,
  messageOf,
  type Random,
  sleep,
  StatusError,
} from '../../base/index.js';
import type { Checkpoint, Engine } from '../engine/engine.js';
import { type DecodedRecord, decodeRecord } from '../record/record-codec.js';
import { openingBytes } from '../directory/reserve.js';
import { DensityCheck, requireLogTail } from './restore.js';

const backoff: BackoffOptions = { baseMs: 500, maxMs: 30_000, jitter: 0.2 };

/** LevelDB writes a table and a manifest when it is opened; without space for them opening fails. */
const reopenBytes = 16 * 1024 * 1024;

/** Options of a revival. */
export interface RevivalOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly storeId: string;
  /** The last visible revision: the log must still reach it. */
  readonly revision: number;
  /** The possible marks of the log: the last known one, and one whose write failed. */
  readonly checkpoints: readonly Checkpoint[];
  /** Free bytes below which writes are refused; an attempt needs no more than 16 MiB of them. */
  readonly freeBytesFloor: number;
  readonly signal: AbortSignal;
}

/** The outcome of the failed writes. */
export interface Revived {
  /** Records after the visible revision that are on the disk. */
  readonly survived: readonly DecodedRecord[];
  /** The mark that is on the disk. */
  readonly checkpoint: Checkpoint;
}

/**
 * Reopens an engine after a failed write, with retries until it succeeds, and returns the failed writes that are on
 * the disk nevertheless. Undefined if the signal aborted.
 *
 * LevelDB stays unwritable after one failed write even if there is free space again, and only the log shows the
 * outcome of that write.
 */
export async function reviveEngine(options: RevivalOptions): Promise<Revived | undefined> {
  const { engine, clock, logger, signal } = options;
  for (let failures = 0; ; failures += 1) {
    const delayMs = backoffDelayMs(backoff, failures, options.random);
    await sleep(clock, delayMs, signal, { background: true });
    if (signal.aborted) return undefined;
    try {
      await engine.reserve?.release(openingBytes);
      const free = await engine.freeBytes?.();
      // Less space than writes need is enough: writes that free space must succeed.
      if (free !== undefined && free < Math.min(options.freeBytesFloor, reopenBytes)) {
        logger.debug('the store waits for free disk space', { freeBytes: free });
        continue;
      }
      await engine.close();
      return await reopen(options);
    } catch (error) {
      logger.warn('store could not be reopened, will retry', { error: messageOf(error) });
    }
  }
}

async function reopen(options: RevivalOptions): Promise<Revived> {
  const { engine, revision } = options;
  const state = await engine.open(() => options.storeId);
  if (state.storeId !== options.storeId)
    throw new StatusError({
      code: 'DataLoss',
      reason: 'OtherStore',
      message: `the data directory now contains store ${state.storeId}, and store ${options.storeId} was open; put that one back, or restart the process`,
    });
  const { checkpoint } = state;
  if (!options.checkpoints.some((mark) => sameMark(mark, checkpoint)))
    throw new StatusError({
      code: 'DataLoss',
      reason: 'CheckpointMismatch',
      message: `the store's compaction mark is now at revision ${checkpoint.revision}, and another process moved it; restore the data directory from a backup`,
    });
  const density = new DensityCheck(revision);
  const survived: DecodedRecord[] = [];
  let reached = false;
  for await (const chunk of engine.scan(revision - 1)) {
    for (const raw of chunk) {
      const record = decodeRecord(raw);
      reached = true;
      if (record.revision <= revision) continue;
      density.next(record);
      survived.push(record);
    }
  }
  density.end();
  const compacted = checkpoint.revision >= revision;
  requireLogTail(reached || compacted ? density.revision : 0, Math.max(revision, state.highWater));
  await engine.confirm?.(density.revision);
  return { survived, checkpoint };
}

function sameMark(a: Checkpoint, b: Checkpoint): boolean {
  return a.revision === b.revision && a.objects === b.objects && a.hash === b.hash;
}
