import type { Trial } from './trial.js';

/** What the checks are sorted by. */
export type CheckTopic =
  | 'lifecycle'
  | 'idempotency'
  | 'data'
  | 'snapshots'
  | 'growth'
  | 'mounts'
  | 'nodes'
  | 'concurrency'
  | 'cancellation'
  | 'errors';

/** What a check can't do without. */
export type CheckNeed =
  | 'content'
  | 'ownsData'
  | 'snapshots'
  | 'expand'
  | 'inventory'
  | 'otherNode'
  | 'unknownNode'
  | 'invalidParameters'
  | 'sensitiveParameters';

/** One demand on a driver, before it is known which driver. */
export interface Check {
  /** Kebab-case, unique in the suite. */
  readonly name: string;
  /** The demand as a sentence. */
  readonly behaviour: string;
  readonly needs: readonly CheckNeed[];
  readonly body: (trial: Trial) => Promise<void>;
}
