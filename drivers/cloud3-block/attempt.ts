import type { Operations } from '@kedge/driver-sdk';

/** The stored attempt to create a volume. */
export interface Attempt {
  /** A part of the ClientToken. */
  readonly epoch: number;
  /** Time of the last call, milliseconds since the epoch; 0: no volume of a call with this epoch can exist. */
  readonly at: number;
  /** The id of the volume, once it is known. */
  readonly id?: string;
  /** Time of the first read that did not find the volume since the last one that did, milliseconds since the epoch. */
  readonly missedAt?: number;
}

/** Reads the stored attempt; undefined without one. */
export async function attemptIn(operations: Operations): Promise<Attempt | undefined> {
  const [epoch, at, id, missedAt] = ((await operations.get('provision')) ?? '').split(' ');
  if (at === undefined) return undefined;
  return {
    ...{ epoch: Number(epoch), at: Number(at) },
    ...(id === undefined ? {} : { id }),
    ...(missedAt === undefined ? {} : { missedAt: Number(missedAt) }),
  };
}

/** Stores an attempt. */
export function storeAttempt(
  operations: Operations,
  { epoch, at, id, missedAt }: Attempt,
): Promise<void> {
  const known = [epoch, at, id, missedAt].filter((value) => value !== undefined);
  return operations.set('provision', known.join(' '));
}
