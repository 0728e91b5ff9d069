import type { AnyKind } from 'kedge';
import { textOf } from 'kedge/rpc';
import {
  causeByRefusal,
  causeText,
  explain,
  isSettledStatus,
  type ReportedEvent,
  type World,
} from '@kedge/controllers/cause';
import { declaredCredentials } from '@kedge/drivers';
import type { Group } from './formats.js';
import { labelOf, subjectOf } from './subjects.js';

/** The number of objects of a kind by status. */
export interface KindCount {
  readonly kind: AnyKind;
  readonly total: number;
  /** The counts by status in the order of their names, such as `1 Failed, 3 Running`; empty without objects or statuses. */
  readonly statuses: string;
}

/** An object whose status is not settled, or whose reconcile is refused. */
export interface NotReady {
  /** Kind and key of the object, such as `Volume default/data`. */
  readonly object: string;
  readonly status: string;
  /** Empty if no cause is known. */
  readonly cause: string;
}

/** Counts the objects of each kind by their status. */
export function countsOf(groups: readonly Group[]): readonly KindCount[] {
  return groups.map(({ kind, objects }) => {
    const counts = new Map<string, number>();
    for (const object of objects) {
      const status = textOf(object, 'status');
      if (status !== '') counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    const statuses = [...counts].sort().map(([status, count]) => `${count} ${status}`);
    return { kind, total: objects.length, statuses: statuses.join(', ') };
  });
}

/**
 * All objects whose status is not settled, with the cause if one is known, and those whose reconcile is refused.
 * @param refusals the events by which refusals begin and end, newest first
 */
export function notReady(
  groups: readonly Group[],
  refusals: readonly ReportedEvent[] = [],
): readonly NotReady[] {
  const objectsOf = (kind: string): readonly never[] =>
    (groups.find((group) => group.kind.kind === kind)?.objects ??
      []) as readonly unknown[] as never[];
  const world: World = {
    services: objectsOf('Service'),
    instances: objectsOf('Instance'),
    volumes: objectsOf('Volume'),
    snapshots: objectsOf('Snapshot'),
    storageClasses: objectsOf('StorageClass'),
    nodes: objectsOf('Node'),
    credentials: declaredCredentials,
  };
  return groups.flatMap(({ kind, objects }) =>
    objects.flatMap((object): readonly NotReady[] => {
      const status = textOf(object, 'status');
      const subject = subjectOf(kind, object);
      const isSettled = status === '' || isSettledStatus(status);
      const isRefused = (): boolean =>
        refusals.length > 0 && subject !== undefined && !!causeByRefusal(subject, world, refusals);
      if (isSettled && !isRefused()) return [];
      const label = labelOf(kind, object);
      const cause = subject && explain(subject, world, refusals);
      return [{ object: label, status, cause: causeText(cause, label) }];
    }),
  );
}
