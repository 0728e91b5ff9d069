import type { SnapshotPhase } from '@kedge/api/kinds';
import { type Reached, transitionTable } from '../provisioned/transition-table.js';

/**
 * The transitions of a snapshot as data: the table S1 to S13, which is also the `states` of the kind. The store
 * refuses all other transitions, and they do not compile in the controller.
 */
export const transitions = [
  { id: 'S1', from: 'None', event: 'created', to: 'Pending', then: 'attempts 0' },
  {
    id: 'S2',
    from: 'Pending',
    event: 'waits',
    to: 'Pending',
    then: 'a condition says what is wrong with its source',
  },
  {
    id: 'S3',
    from: 'Pending',
    event: 'started',
    to: 'Creating',
    then: 'driver and parameters are captured, and the source protected, before the driver is called',
  },
  {
    id: 'S4',
    from: 'Creating',
    event: 'pending',
    to: 'Creating',
    then: 'observed or tried again with backoff, under the same identity',
  },
  {
    id: 'S5',
    from: 'Creating',
    event: 'completed',
    to: 'Ready',
    then: 'handle, size and time are captured, the source is free again',
  },
  {
    id: 'S6',
    from: 'Creating',
    event: 'failedForGood',
    to: 'Failed',
    then: 'failureMessage says why, the source is free again',
  },
  {
    id: 'S6',
    from: 'Pending',
    event: 'failedForGood',
    to: 'Failed',
    then: 'failureMessage says why',
  },
  {
    id: 'S7',
    from: 'Failed',
    event: 'retried',
    to: 'Pending',
    then: 'by hand, or by a change of snapshot or secret; it is of the time when it is made',
  },
  {
    id: 'S8',
    from: 'Pending',
    event: 'forgotten',
    to: 'None',
    then: 'no driver was called',
  },
  {
    id: 'S8',
    from: 'Failed',
    event: 'forgotten',
    to: 'None',
    then: 'no driver was called: a secret or the class was missing',
  },
  {
    id: 'S8',
    from: 'Pending',
    event: 'deleting',
    to: 'Deleting',
    then: 'after a retry: what the try before left behind is looked up by identity',
  },
  {
    id: 'S9',
    from: 'Creating',
    event: 'deletionRequested',
    to: 'Creating',
    then: 'to a known outcome first, so that nothing leaks',
  },
  {
    id: 'S10',
    from: 'Ready',
    event: 'deleting',
    to: 'Deleting',
    then: 'not while a volume is being made from it',
  },
  {
    id: 'S10',
    from: 'Failed',
    event: 'deleting',
    to: 'Deleting',
    then: 'also without a handle: what a try left behind is looked up by identity',
  },
  {
    id: 'S11',
    from: 'Deleting',
    event: 'deleted',
    to: 'None',
    then: 'the finalizer goes last',
  },
  {
    id: 'S12',
    from: 'Deleting',
    event: 'deleteFailed',
    to: 'Failed',
    then: 'the handle is kept; deletion is tried again with backoff',
  },
  {
    id: 'S13',
    from: 'Ready',
    event: 'lost',
    to: 'Failed',
    then: 'seen absent twice: SnapshotLost',
  },
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
