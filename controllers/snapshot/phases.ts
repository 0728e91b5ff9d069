import type { SnapshotPhase } from '@kedge/api/kinds';
import { type Reached, row, transitionTable } from '../provisioned/transition-table.js';

/**
 * The transitions of a snapshot as data: the table S1 to S13, which is also the `states` of the kind. The store
 * refuses all other transitions, and they do not compile in the controller.
 */
export const transitions = [
  row('S1', 'None', 'created', 'Pending', 'attempts 0'),
  row('S2', 'Pending', 'waits', 'Pending', 'a condition says what is wrong with its source'),
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
    'observed or tried again with backoff, under the same identity',
  ),
  row(
    'S5',
    'Creating',
    'completed',
    'Ready',
    'handle, size and time are captured, the source is free again',
  ),
  row(
    'S6',
    'Creating',
    'failedForGood',
    'Failed',
    'failureMessage says why, the source is free again',
  ),
  row('S6', 'Pending', 'failedForGood', 'Failed', 'failureMessage says why'),
  row(
    'S7',
    'Failed',
    'retried',
    'Pending',
    'by hand, or by a change of snapshot or secret; it is of the time when it is made',
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
    'after a retry: what the try before left behind is looked up by identity',
  ),
  row(
    'S9',
    'Creating',
    'deletionRequested',
    'Creating',
    'to a known outcome first, so that nothing leaks',
  ),
  row('S10', 'Ready', 'deleting', 'Deleting', 'not while a volume is being made from it'),
  row(
    'S10',
    'Failed',
    'deleting',
    'Deleting',
    'also without a handle: what a try left behind is looked up by identity',
  ),
  row('S11', 'Deleting', 'deleted', 'None', 'the finalizer goes last'),
  row(
    'S12',
    'Deleting',
    'deleteFailed',
    'Failed',
    'the handle is kept; deletion is tried again with backoff',
  ),
  row('S13', 'Ready', 'lost', 'Failed', 'seen absent twice: SnapshotLost'),
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
