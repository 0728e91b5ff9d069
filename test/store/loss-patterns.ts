import { seededRandom } from 'kedge';
import { pad } from './ledger.js';

/** Whether each batch of a workload is synced, without end. */
export function* durabilities(seed: number): Iterable<boolean> {
  const random = seededRandom(seed);
  for (;;) yield random.next() < 0.1;
}

/** Key of one of the two entries of a batch. */
export function batchKey(number: number, part: number): string {
  return `${String(number).padStart(8, '0')}/${part}`;
}

/** What the entries of a batch hold. */
export function batchValue(number: number): string {
  return pad(number).repeat(3);
}

/**
 * What a power loss did to acknowledged batches:
 * - `nothing`: all are there.
 * - `end`: the last ones are gone, none of them synced.
 * - `alone`: one that was not synced is gone, and a later one is there.
 * - `before a synced one`: as `alone`, and a later one that was synced is there.
 * - `torn`, `synced`: half of a batch is there, or a synced one is gone. Neither may be.
 */
export type LossPattern = 'nothing' | 'end' | 'alone' | 'before a synced one' | 'torn' | 'synced';

/** The patterns in what is left of the first `acknowledged` batches. */
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
