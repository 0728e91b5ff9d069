import type {
  InstancePhase,
  NamespacePhase,
  NodePhase,
  ServicePhase,
  SnapshotPhase,
  VolumePhase,
} from '@kedge/api/kinds';

type Phase =
  | InstancePhase
  | NamespacePhase
  | NodePhase
  | ServicePhase
  | SnapshotPhase
  | VolumePhase;

/** Statuses of objects that wait for nothing, and whether such an object can be used. */
const settledStatuses: ReadonlyMap<string | undefined, { readonly usable: boolean }> = new Map(
  Object.entries({
    Active: { usable: true },
    Available: { usable: true },
    Bound: { usable: true },
    Ready: { usable: true },
    Released: { usable: false },
    Running: { usable: true },
    Stopped: { usable: false },
  } satisfies { readonly [P in Phase]?: { readonly usable: boolean } }),
);

/** True if an object with this status waits for nothing, regardless of earlier warnings. */
export function isSettledStatus(status: string | undefined): boolean {
  return settledStatuses.has(status);
}

/** True if an object with this status serves its purpose; false if it waits, failed or was stopped or released. */
export function isUsableStatus(status: string | undefined): boolean {
  return settledStatuses.get(status)?.usable === true;
}
