import type { AnyKind, Condition } from 'kedge';
import { type JsonObject, textOf } from 'kedge/rpc';
import {
  type Cause,
  causeOfInstance,
  causeOfService,
  causeOfStorage,
  type VolumeLookup,
} from '@kedge/controllers/cause';
import type { Instance, Service, Volume } from '@kedge/api/kinds';
import { labelOf } from '../connection/follow.js';
import type { Group } from './formats.js';

/** Statuses in which nothing is to be done. */
const settled = new Set([
  'Running',
  'Available',
  'Bound',
  'Released',
  'Ready',
  'Active',
  'Stopped',
]);

/** How many objects of a kind are in which status. */
export interface KindCount {
  readonly kind: AnyKind;
  readonly total: number;
  /** Such as `3 Running, 1 Failed`; empty for a kind without a status. */
  readonly statuses: string;
}

/** Something that is not as it should be. */
export interface NotReady {
  /** `Volume default/data` */
  readonly object: string;
  readonly status: string;
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

function unmet(object: JsonObject): string {
  const conditions = (object.conditions ?? []) as readonly Condition[];
  return conditions.find(({ status }) => status !== 'True')?.message ?? '';
}

function causeText(cause: Cause | undefined, label: string): string {
  if (!cause) return '';
  return cause.object === label ? cause.message : `${cause.object}: ${cause.message}`;
}

/** Everything that is not as it should be, with what keeps it from being so. */
export function notReady(groups: readonly Group[]): readonly NotReady[] {
  const objectsOf = (kind: string): readonly JsonObject[] =>
    groups.find((group) => group.kind.kind === kind)?.objects ?? [];
  const volumes = new Map(
    objectsOf('Volume').map((volume) => [
      `${textOf(volume, 'namespace')}/${textOf(volume, 'name')}`,
      volume as unknown as Volume,
    ]),
  );
  const volumeAt: VolumeLookup = (key) => volumes.get(key);
  const instances = objectsOf('Instance') as readonly unknown[] as readonly Instance[];
  const causeOf = (kind: string, object: JsonObject, label: string): string => {
    if (kind === 'Volume' || kind === 'Snapshot') return causeOfStorage(object);
    if (kind === 'Instance')
      return causeText(causeOfInstance(object as unknown as Instance, volumeAt), label);
    if (kind !== 'Service') return unmet(object);
    const service = object as unknown as Service;
    const own = instances.filter(
      (i) => i.service === service.name && i.namespace === service.namespace,
    );
    return causeText(causeOfService(service, own, volumeAt), label);
  };
  return groups.flatMap(({ kind, objects }) =>
    objects.flatMap((object): readonly NotReady[] => {
      const status = textOf(object, 'status');
      if (status === '' || settled.has(status)) return [];
      const label = labelOf(kind, object);
      return [{ object: label, status, cause: causeOf(kind.kind, object, label) }];
    }),
  );
}
