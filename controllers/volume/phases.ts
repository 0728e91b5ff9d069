import type { VolumePhase } from '../kinds/index.js';

/**
 * The transitions of a volume as data; numbers as in the table of research/storage.md 4.2. What is
 * not listed does not happen: the controller asks this table before it writes a status.
 */
export const transitions = [
  { id: 'V3', from: 'Pending', event: 'resolved', to: 'Provisioning' },
  { id: 'V4', from: 'Pending', event: 'failedForGood', to: 'Failed' },
  { id: 'V4', from: 'Provisioning', event: 'failedForGood', to: 'Failed' },
  { id: 'V4', from: 'Failed', event: 'failedForGood', to: 'Failed' },
  { id: 'V5', from: 'Provisioning', event: 'failedForNow', to: 'Provisioning' },
  { id: 'V6', from: 'Provisioning', event: 'provisioned', to: 'Available' },
  { id: 'V7', from: 'Provisioning', event: 'attemptsSpent', to: 'Failed' },
  { id: 'V8', from: 'Provisioning', event: 'outcomeUnknown', to: 'Stalled' },
  { id: 'V10', from: 'Failed', event: 'rearmed', to: 'Provisioning' },
  { id: 'V11', from: 'Available', event: 'bound', to: 'Bound' },
  { id: 'V14', from: 'Bound', event: 'bound', to: 'Bound' },
  { id: 'V15', from: 'Bound', event: 'unbound', to: 'Available' },
  { id: 'V16', from: 'Bound', event: 'ownerGone', to: 'Released' },
  { id: 'V20', from: 'Stalled', event: 'provisioned', to: 'Available' },
  { id: 'V21', from: 'Stalled', event: 'observedAbsent', to: 'Provisioning' },
  { id: 'V22', from: 'Available', event: 'ownerGone', to: 'Released' },
  { id: 'V22', from: 'Failed', event: 'ownerGone', to: 'Released' },
  { id: 'V22', from: 'Pending', event: 'ownerGone', to: 'Released' },
  { id: 'V24', from: 'Released', event: 'failedForGood', to: 'Failed' },
  { id: 'V26', from: 'Released', event: 'ownerBack', to: 'Available' },
] as const satisfies readonly {
  readonly id: string;
  readonly from: VolumePhase;
  readonly event: string;
  readonly to: VolumePhase;
}[];

/** What can happen to a volume. */
export type VolumeEvent = (typeof transitions)[number]['event'];

/** The phase after an event. @throws TypeError for an event the phase does not know: a bug. */
export function nextPhase(from: VolumePhase, event: VolumeEvent): VolumePhase {
  const found = transitions.find((t) => t.from === from && t.event === event);
  if (!found) throw new TypeError(`a ${from} volume does not know the event ${event}`);
  return found.to;
}
