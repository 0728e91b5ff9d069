import { findCondition, isDeleting, keyString } from 'kedge/objects';
import type { Instance, Snapshot, Volume } from '@kedge/api/kinds';
import {
  entryOf,
  namedVolumes,
  type Subject,
  type SubjectOf,
  type World,
} from '../reasons/index.js';
import { mountedVolumes } from '../references/claim.js';
import { sourceSnapshot } from '../volume/kind.js';
import { problemOfStorage, type ReportedProblem } from './reported-problem.js';

/** A problem that the user of a volume or snapshot reports. */
export interface ProblemOfUser {
  readonly user: Subject;
  readonly problem: ReportedProblem;
}

/**
 * The problem of an instance with a volume that it mounts: a call that failed, an obstacle, or no node that reaches the
 * volume; not the progress.
 */
function problemWith(volume: string, instance: Instance): ReportedProblem | undefined {
  const mounted = mountedVolumes(instance);
  if (isDeleting(instance) || !mounted.includes(volume)) return undefined;
  return ['VolumesReady', 'Scheduled']
    .map((type) => findCondition(instance.conditions, type))
    .find((found) => {
      if (found?.status !== 'False' || entryOf(found.reason)?.type !== 'unmet') return false;
      const named = namedVolumes(found.message);
      // A message about volumes that names none is about the only one.
      if (named.length === 0) return found.type === 'VolumesReady' && mounted.length === 1;
      return named.includes(volume);
    });
}

function usersOfVolume(volume: Volume, { instances }: World): readonly ProblemOfUser[] {
  const key = keyString(volume);
  return instances.flatMap((object) => {
    const problem = problemWith(key, object);
    return problem ? [{ user: { kind: 'Instance', object } as const, problem }] : [];
  });
}

function usersOfSnapshot(snapshot: Snapshot, { volumes }: World): readonly ProblemOfUser[] {
  return volumes.flatMap((object) => {
    const source = sourceSnapshot(object);
    if (!source || keyString(source) !== keyString(snapshot)) return [];
    const problem = object.lastOperation?.call === 'restore' && problemOfStorage(object);
    return problem ? [{ user: { kind: 'Volume', object } as const, problem }] : [];
  });
}

/**
 * The first problem with a volume or snapshot that its users report: an instance that can't mount the volume, or a volume
 * that can't be restored from the snapshot. Undefined for an object that is being deleted.
 */
export function problemOfUsers(
  subject: SubjectOf<'Volume' | 'Snapshot'>,
  world: World,
): ProblemOfUser | undefined {
  if (isDeleting(subject.object)) return undefined;
  const [first] =
    subject.kind === 'Volume'
      ? usersOfVolume(subject.object, world)
      : usersOfSnapshot(subject.object, world);
  return first;
}
