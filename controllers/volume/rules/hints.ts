import { isDeleting } from 'kedge';
import type { Volume } from '../kind.js';

/** What `describe` knows of a volume beside itself. */
export interface HintFacts {
  /** Whether its storage class is there. */
  readonly hasClass: boolean;
  /** What its deletion waits for, with the way out; undefined when that is nothing. */
  readonly waitsFor: string | undefined;
  /** Why it stays although its replica was scaled away; undefined when it was not. */
  readonly keptBecause: string | undefined;
}

/** What an operator can do next for a volume. Pure. */
export function volumeHints(
  volume: Volume,
  { hasClass, waitsFor, keptBecause }: HintFacts,
): readonly string[] {
  const hints: string[] = [];
  if (waitsFor !== undefined) hints.push(waitsFor);
  if (keptBecause !== undefined) hints.push(keptBecause);
  if (volume.status === 'Failed') hints.push(wayOutOfFailure(volume));
  if (!hasClass)
    hints.push('its class is gone; deletion and detach use the captured driverParameters');
  return hints;
}

function wayOutOfFailure(volume: Volume): string {
  const { name, namespace, handle = '' } = volume;
  if (isDeleting(volume)) {
    const again =
      'mend what the message names: its deletion is tried again by itself, at once on a change of the volume, its class or its secret';
    // Without a handle there is no data that a policy could keep.
    return handle === ''
      ? again
      : `${again}; or set its reclaimPolicy to retain: the volume goes, and its data stays at the provider`;
  }
  if (handle !== '')
    return 'mend what the message names; it is not made anew, so that no data is lost: where it is gone, restore a snapshot, or delete it';
  return `mend what the message names; a change of the volume, its class or its secret tries again by itself, or: kedge volume retry-provision ${name} -n ${namespace}`;
}
