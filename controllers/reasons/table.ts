import { driverErrors } from './driver-errors.js';
import { instanceReasons } from './instance-reasons.js';
import { nodeReasons } from './node-reasons.js';
import type { ReasonEntry } from './reason.js';
import { serviceReasons } from './service-reasons.js';
import { settledReasons } from './settled-reasons.js';
import { storageReasons } from './storage-reasons.js';

/**
 * Every reason that a condition, a volume or a snapshot has. A reason that is not here can't be set, and one that
 * is here has a remedy, or stands for something that needs none.
 */
export const reasonTable = {
  ...settledReasons,
  ...serviceReasons,
  ...instanceReasons,
  ...storageReasons,
  ...nodeReasons,
  ...driverErrors,
} as const satisfies Readonly<Record<string, ReasonEntry>>;

/** The same by what tells them. */
export const reasonGroups = {
  'Driver errors': driverErrors,
  'Volumes and snapshots': storageReasons,
  Instances: instanceReasons,
  Services: serviceReasons,
  'Nodes, namespaces and storage roots': nodeReasons,
  'As it should be': settledReasons,
} as const satisfies Readonly<Record<string, Readonly<Record<string, ReasonEntry>>>>;

/** A reason that is known. */
export type Reason = keyof typeof reasonTable;

/** The meaning of a reason; undefined for one of another release. */
export function entryOf(reason: string): ReasonEntry | undefined {
  return Object.hasOwn(reasonTable, reason) ? reasonTable[reason as Reason] : undefined;
}
