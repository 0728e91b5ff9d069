import { driverErrors } from './driver-errors.js';
import { instanceReasons } from './instance-reasons.js';
import { nodeReasons } from './node-reasons.js';
import type { ReasonEntry } from './reason.js';
import { serviceReasons } from './service-reasons.js';
import { settledReasons } from './settled-reasons.js';
import { storageReasons } from './storage-reasons.js';

/**
 * Every reason of a condition, a volume or a snapshot, and of events about refused reconciles. Other reasons can't be set. Each reason has a remedy,
 * unless it describes a desired state.
 */
export const reasonTable = {
  ...settledReasons,
  ...serviceReasons,
  ...instanceReasons,
  ...storageReasons,
  ...nodeReasons,
  ...driverErrors,
} as const satisfies Readonly<Record<string, ReasonEntry>>;

/** The same reasons by the objects that have them. */
export const reasonGroups = {
  'Driver errors': driverErrors,
  'Volumes and snapshots': storageReasons,
  Instances: instanceReasons,
  Services: serviceReasons,
  'Nodes, namespaces and storage roots': nodeReasons,
  'Desired states': settledReasons,
} as const satisfies Readonly<Record<string, Readonly<Record<string, ReasonEntry>>>>;

/** A known reason. */
export type Reason = keyof typeof reasonTable;

/** The meaning of a reason; undefined for a reason of another release. */
export function entryOf(reason: string): ReasonEntry | undefined {
  return Object.hasOwn(reasonTable, reason) ? reasonTable[reason as Reason] : undefined;
}
