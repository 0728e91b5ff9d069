import type { SnapshotPhase } from '@kedge/api/kinds';
import { type Reached, row, transitionTable } from '../states/transition-table.js';

/**
 * The transitions of a snapshot as data: the table S1 to S14, which is also the `states` of the kind. The store
 * refuses all other transitions, and they do not compile in the controller.
 */
export const transitions = [
  row('S1', 'None', 'created', 'Pending', 'attempts 0'),
  row('S2', 'Pending', 'waits', 'Pending', 'a condition reports the problem of its source'),
  row(
    'S3',
    'Pending',
    'started',
    'Creating',
    'driver and parameters are captured, and the source protected, before the driver is called',
  ),
  row(
    'S4',
    'Creating',
    'pending',
    'Creating',
    'the creation is observed, or retried with backoff and the same snapshot uid',
  ),
  row(
    'S5',
    'Creating',
    'completed',
    'Ready',
    'handle, size and time are captured; the source is released',
  ),
  row(
    'S6',
    'Creating',
    'failedForGood',
    'Failed',
    'failureMessage has the cause; the source is released',
  ),
  row('S6', 'Pending', 'failedForGood', 'Failed', 'failureMessage has the cause'),
  row(
    'S7',
    'Failed',
    'retried',
    'Pending',
    'by a user, or by a change of snapshot, class or secret; it has the data of the time of the retry',
  ),
  row('S8', 'Pending', 'forgotten', 'None', 'no driver was called'),
  row(
    'S8',
    'Failed',
    'forgotten',
    'None',
    'no driver was called: a secret or the class was missing',
  ),
  row(
    'S8',
    'Pending',
    'deleting',
    'Deleting',
    'after a retry: a resource of the previous attempt is looked up by identity',
  ),
  row(
    'S9',
    'Creating',
    'deletionRequested',
    'Creating',
    'the creation continues until its outcome is known, so that no resource leaks',
  ),
  row('S10', 'Ready', 'deleting', 'Deleting', 'not while a volume is being restored from it'),
  row(
    'S10',
    'Failed',
    'deleting',
    'Deleting',
    'also without a handle: a resource of an attempt is looked up by identity',
  ),
  row('S11', 'Deleting', 'deleted', 'None', 'the finalizer is removed last'),
  row(
    'S12',
    'Deleting',
    'deleteFailed',
    'Failed',
    'the handle is kept; deletion is retried with backoff',
  ),
  row('S13', 'Ready', 'lost', 'Failed', 'found absent by two probes: SnapshotLost'),
  row(
    'S14',
    'Ready',
    'forgotten',
    'None',
    'reclaim policy retain: the object is removed, the copy is kept',
  ),
  row(
    'S14',
    'Failed',
    'forgotten',
    'None',
    'reclaim policy retain: also after a deletion that its driver refused',
  ),
  row(
    'S14',
    'Deleting',
    'forgotten',
    'None',
    'reclaim policy retain: a node reported a refusal, or there is no credential',
  ),
] as const satisfies readonly {
  readonly id: `S${number}`;
  readonly from: SnapshotPhase | 'None';
  readonly event: string;
  readonly to: SnapshotPhase | 'None';
  readonly then: string;
}[];

/** A phase that is the result of a transition. */
export type NextSnapshotPhase = Reached<SnapshotPhase>;

/** The phases of a snapshot for its kind, and the phase after an event. */
export const { states: snapshotStates, next: nextPhase } = transitionTable(transitions);
