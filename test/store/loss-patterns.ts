import { seededRandom } from 'kedge';
import { pad } from './ledger.js';

/** Whether each batch of a workload is synced, as an infinite sequence. */
export function* durabilities(seed: number): Iterable<boolean> {
  const random = seededRandom(seed);
  for (;;) yield random.next() < 0.1;
}

/** Key of one of the two entries of a batch. */
export function batchKey(number: number, part: number): string {
  return `${String(number).padStart(8, '0')}/${part}`;
}

/** The content of a batch's entries. */
export function batchValue(number: number): string {
  return pad(number).repeat(3);
}

/**
 * The effect of a power loss on acknowledged batches:
 * - `nothing`: all exist.
 * - `end`: the last ones are lost, none of them synced.
 * - `alone`: an unsynced one is lost, and a later one exists.
 * - `before a synced one`: as `alone`, and a later synced one exists.
 * - `torn`, `synced`: half of a batch exists, or a synced one is lost. Neither is allowed.
 */
export type LossPattern = 'nothing' | 'end' | 'alone' | 'before a synced one' | 'torn' | 'synced';

/** The patterns in the rest of the first `acknowledged` batches. */
export function lossPatterns(
  seed: number,
  acknowledged: number,
  survived: ReadonlySet<string>,
): ReadonlySet<LossPattern> {
  const patterns = new Set<LossPattern>();
  const lost: number[] = [];
  let lastThere = -1;
  let lastSyncedThere = -1;
  let number = 0;
  for (const synced of durabilities(seed)) {
    if (number === acknowledged) break;
    const parts = [0, 1].filter((part) => survived.has(batchKey(number, part)));
    if (parts.length === 1) patterns.add('torn');
    if (parts.length === 2) {
      lastThere = number;
      if (synced) lastSyncedThere = number;
    } else {
      lost.push(number);
      if (synced) patterns.add('synced');
    }
    number += 1;
  }
  for (const at of lost) {
    if (at > lastThere) patterns.add('end');
    else patterns.add('alone');
    if (at < lastSyncedThere) patterns.add('before a synced one');
  }
  if (lost.length === 0) patterns.add('nothing');
  return patterns;
}
