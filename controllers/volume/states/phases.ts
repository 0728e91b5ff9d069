import type { VolumePhase } from '@kedge/api/kinds';
import {
  type EventFrom,
  type Reached,
  row,
  transitionTable,
} from '../../states/transition-table.js';

/**
 * The transitions of a volume as data: the table V1 to V33, which is also the `states` of the kind. The store
 * refuses all other transitions, and they do not compile in controllers. `then` describes the effect; the
 * operators' guide is checked against this table.
 */
export const transitions = [
  row('V1', 'None', 'created', 'Pending', 'attempts 0'),
  row(
    'V2',
    'Pending',
    'waits',
    'Pending',
    'a condition reports the cause, such as no node in allowedTopologies, or a snapshot that is not Ready',
  ),
  row(
    'V3',
    'Pending',
    'resolved',
    'Provisioning',
    'the intent is stored before the driver is called',
  ),
  row('V4', 'Pending', 'failedForGood', 'Failed', 'failureMessage has the cause'),
  row('V4', 'Provisioning', 'failedForGood', 'Failed', 'failureMessage has the cause'),
  row('V4', 'Failed', 'failedForGood', 'Failed', 'failureMessage has the cause'),
  row('V5', 'Provisioning', 'failedForNow', 'Provisioning', 'attempts + 1, backoff, same identity'),
  row(
    'V6',
    'Provisioning',
    'provisioned',
    'Available',
    'handle, size and driverParameters are captured',
  ),
  row('V7', 'Provisioning', 'attemptsSpent', 'Failed', 'failureMessage has the last error'),
  row(
    'V8',
    'Provisioning',
    'outcomeUnknown',
    'Stalled',
    'the provider is observed until the outcome is known',
  ),
  row(
    'V9',
    'Provisioning',
    'deletionRequested',
    'Provisioning',
    'provisioning continues until its outcome is known, so that no resource leaks',
  ),
  row(
    'V10',
    'Failed',
    'rearmed',
    'Provisioning',
    'by a change of volume, class or secret, by a user, or after 15 minutes; attempts 0',
  ),
  row(
    'V11',
    'Available',
    'bound',
    'Bound',
    'reserved before the node calls the driver; boundClaim and boundNode are set once it is mounted',
  ),
  row(
    'V12',
    'Available',
    'attachRejected',
    'Available',
    'the instance reports the error and retries without limit',
  ),
  row(
    'V13',
    'Available',
    'attachUnknown',
    'Stalled',
    'the attachment is kept until the node observes the outcome',
  ),
  row('V14', 'Bound', 'bound', 'Bound', 'found mounted after a restart: kept'),
  row('V15', 'Bound', 'unbound', 'Available', 'boundClaim and boundNode are cleared'),
  row('V17', 'Bound', 'tearDownFailed', 'Bound', 'logged; adopted at the next start'),
  row('V18', 'Bound', 'detachUnknown', 'Stalled', 'boundNode is kept: no attach on another node'),
  row(
    'V19',
    'Bound',
    'nodeLost',
    'Bound',
    'kept until the node is known to be down, or detach with force',
  ),
  row('V20', 'Stalled', 'provisioned', 'Available', 'the provider reports the volume'),
  row('V20', 'Stalled', 'bound', 'Bound', 'the node reports it as attached'),
  row('V20', 'Stalled', 'unbound', 'Available', 'the node reports it as detached'),
  row(
    'V21',
    'Stalled',
    'observedAbsent',
    'Provisioning',
    'the provider does not have the volume: provisioned again',
  ),
  row('V22', 'Available', 'ownerGone', 'Released', 'not while a snapshot is being created'),
  row('V22', 'Failed', 'ownerGone', 'Released', 'not while a snapshot is being created'),
  row(
    'V22',
    'Pending',
    'forgotten',
    'None',
    'the volume or its service is deleted before any driver call, so there is no data to retain',
  ),
  row(
    'V23',
    'Released',
    'deleted',
    'None',
    'the driver reports it as deleted; the finalizer is removed last',
  ),
  row(
    'V23',
    'Available',
    'deleted',
    'None',
    'the driver reports it as deleted; the finalizer is removed last',
  ),
  row(
    'V23',
    'Failed',
    'deleted',
    'None',
    'the driver reports it as deleted; the finalizer is removed last',
  ),
  row(
    'V24',
    'Released',
    'deleteFailed',
    'Failed',
    'the handle is kept; deletion is retried with backoff',
  ),
  row(
    'V24',
    'Available',
    'deleteFailed',
    'Failed',
    'the handle is kept; deletion is retried with backoff',
  ),
  row(
    'V24',
    'Failed',
    'deleteFailed',
    'Failed',
    'the handle is kept; deletion is retried with backoff',
  ),
  row(
    'V25',
    'Released',
    'forgotten',
    'None',
    'reclaim policy retain: the object is removed, the data is kept',
  ),
  row(
    'V25',
    'Available',
    'forgotten',
    'None',
    'deleted by a user with reclaim policy retain: the object is removed, the data is kept',
  ),
  row(
    'V25',
    'Failed',
    'forgotten',
    'None',
    'reclaim policy retain, or no driver was called: the object is removed, data is kept',
  ),
  row(
    'V26',
    'Released',
    'ownerBack',
    'Available',
    'the same service and ordinal, or reuse by a user',
  ),
  row(
    'V27',
    'Available',
    'lost',
    'Failed',
    'found absent by two probes: VolumeLost; never provisioned again silently',
  ),
  row(
    'V27',
    'Bound',
    'lost',
    'Failed',
    'found absent by two probes: VolumeLost; never provisioned again silently',
  ),
  row(
    'V27',
    'Failed',
    'found',
    'Available',
    'a lost volume is observed again, for example after its disk was mounted',
  ),
  row(
    'V27',
    'Failed',
    'foundAttached',
    'Bound',
    'a lost volume is observed again while an instance still claims it',
  ),
  row('V28', 'Bound', 'deletionRefused', 'Bound', 'the request fails with FailedPrecondition'),
  row('V29', 'Stalled', 'deletionRequested', 'Stalled', 'the outcome is observed first'),
  row('V30', 'Available', 'resized', 'Available', 'the file system is resized at the next mount'),
  row('V30', 'Bound', 'resized', 'Bound', 'only if the driver supports online expansion'),
  row('V31', 'Released', 'policyEdited', 'Released', 'the policy is applied at the reclaim'),
  row(
    'V32',
    'Pending',
    'imported',
    'Available',
    'an existing volume of the provider, by kedge volume import; never formatted, policy retain',
  ),
  row(
    'V33',
    'Stalled',
    'abandoned',
    'Failed',
    'a user ended the wait for its deletion by an annotation; its driver is still asked to delete it',
  ),
] as const satisfies readonly {
  readonly id: `V${number}`;
  readonly from: VolumePhase | 'None';
  readonly event: string;
  readonly to: VolumePhase | 'None';
  readonly then: string;
}[];

type Transition = (typeof transitions)[number];

/** The events of a phase; for a union of phases only the common ones. */
export type VolumeEvent<From extends VolumePhase> = EventFrom<Transition, From>;

/** A phase that is the result of a transition. */
export type NextVolumePhase = Reached<VolumePhase>;

/** The phases of a volume for its kind, and the phase after an event. */
export const { states: volumeStates, next: nextPhase } = transitionTable(transitions);
