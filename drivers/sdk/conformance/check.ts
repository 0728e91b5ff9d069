import type { Trial } from './trial.js';

/** Topics of checks. */
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
  | 'errors'
  | 'handles';

/** Requirements of a check. */
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

/** One check of a driver. */
export interface Check {
  /** Kebab-case, unique in the suite. */
  readonly name: string;
  /** The requirement as a sentence. */
  readonly behaviour: string;
  readonly needs: readonly CheckNeed[];
  readonly body: (trial: Trial) => Promise<void>;
}
