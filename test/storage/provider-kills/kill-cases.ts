import { shuffled } from '../../fixtures/seed.js';
import type { Random } from 'kedge';
import { type OperationKind, operationKinds } from '@kedge/driver-sdk';

/**
 * The time at which the daemon is killed, and the outcome of the provider's operation meanwhile. Each pair is
 * possible: an operation that has ended can't fail any more.
 */
export const moments = [
  { at: 'before the provider was asked', point: 'arrived', then: 'the request is lost' },
  { at: 'before the id is stored', point: 'arrived', then: 'it ends meanwhile' },
  { at: 'before the id is stored', point: 'arrived', then: 'it fails meanwhile' },
  { at: 'before the id is stored', point: 'accepted', then: 'it ends meanwhile' },
  { at: 'before the id is stored', point: 'accepted', then: 'it ends later' },
  { at: 'before the id is stored', point: 'accepted', then: 'it fails meanwhile' },
  { at: 'before the id is stored', point: 'accepted', then: 'it fails later' },
  { at: 'before the id is stored', point: 'accepted', then: 'it is forgotten at its end' },
  { at: 'before the id is stored', point: 'accepted', then: 'it is forgotten and ends later' },
  { at: 'before the first poll', point: 'polled', then: 'it ends meanwhile' },
  { at: 'before the first poll', point: 'polled', then: 'it ends later' },
  { at: 'before the first poll', point: 'polled', then: 'it fails meanwhile' },
  { at: 'before the first poll', point: 'polled', then: 'it fails later' },
  { at: 'before the first poll', point: 'polled', then: 'it is forgotten at its end' },
  { at: 'before the first poll', point: 'polled', then: 'it is forgotten and ends later' },
  { at: 'after its end was observed', point: 'read', then: 'nothing more happens' },
  { at: 'after its end was observed', point: 'read', then: 'it is forgotten at its end' },
  { at: 'before the commit', point: 'answered', then: 'nothing more happens' },
] as const;

/** One kill. */
export interface KillCase {
  readonly kind: OperationKind;
  readonly moment: (typeof moments)[number];
}

/** Every kind of operation at every time, in a random order. */
export function killCases(random: Random): readonly KillCase[] {
  const all = operationKinds.flatMap((kind) => moments.map((moment) => ({ kind, moment })));
  return shuffled(all, random);
}

/** The description of a case. */
export function describeCase({ kind, moment: { at, then } }: KillCase): string {
  return `${kind}, killed ${at}, ${then}`;
}
