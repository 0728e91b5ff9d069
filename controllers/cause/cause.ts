import { type Condition, findCondition, isDeleting } from 'kedge/objects';
import type { Instance, Service } from '@kedge/api/kinds';
import {
  findByKey,
  labelOfSubject,
  type Subject,
  type SubjectOf,
  type World,
} from '../reasons/index.js';
import { mountedVolumes } from '../references/claim.js';
import { sourceSnapshot } from '../volume/kind.js';
import {
  crashOf,
  degradedCondition,
  type ReportedProblem,
  problemOfStorage,
  unmetCondition,
} from './reported-problem.js';
import { isUsableStatus } from './settled-status.js';
import { problemOfUsers } from './users.js';

/** The cause of a problem. */
export interface Cause {
  /** The object that reports the cause: `Volume default/data`. */
  readonly object: string;
  readonly subject: Subject;
  readonly reason: string;
  readonly message: string;
  /** The path from the explained object to the one that reports the cause. The last one is {@link object}. */
  readonly path: readonly string[];
}

function causeOfItself(subject: Subject, problem: ReportedProblem | undefined): Cause | undefined {
  if (!problem) return undefined;
  const object = labelOfSubject(subject);
  return { ...problem, object, subject, path: [object] };
}

/** Adds `subject` to the path of the cause of an object on which it depends. Returns undefined for no cause. */
function through(subject: Subject, cause: Cause | undefined): Cause | undefined {
  return cause && { ...cause, path: [labelOfSubject(subject), ...cause.path] };
}

/**
 * The cause of a volume's or snapshot's problem. If the object waits for its source, and the source has a known cause,
 * returns the cause of the source.
 */
function causeOfStorage(
  subject: SubjectOf<'Volume' | 'Snapshot'>,
  world: World,
): Cause | undefined {
  const problem = problemOfStorage(subject.object);
  const source = problem && sourceOf(subject, problem.reason, world);
  const deeper = source && causeOfStorage(source, world);
  return through(subject, deeper) ?? causeOfItself(subject, problem);
}

/** The cause of a volume or snapshot that has no problem itself: that of an object which can't use it. */
function causeOfUsers(subject: SubjectOf<'Volume' | 'Snapshot'>, world: World): Cause | undefined {
  const found = problemOfUsers(subject, world);
  return found && through(subject, causeOfItself(found.user, found.problem));
}

function sourceOf(
  subject: SubjectOf<'Volume' | 'Snapshot'>,
  reason: string,
  { snapshots, volumes }: World,
): SubjectOf<'Volume' | 'Snapshot'> | undefined {
  if (subject.kind === 'Volume' && reason === 'SnapshotNotReady') {
    const key = sourceSnapshot(subject.object);
    const object = key && findByKey(snapshots, `${key.namespace}/${key.name}`);
    return object && { kind: 'Snapshot', object };
  }
  if (subject.kind === 'Snapshot' && reason === 'SourceNotReady') {
    const { namespace, source } = subject.object;
    const object = findByKey(volumes, `${namespace}/${source.volume}`);
    return object && { kind: 'Volume', object };
  }
  return undefined;
}

/** Whether an object is ready and is to stay. */
function isReady(object: Instance | Service): boolean {
  return findCondition(object.conditions, 'Ready')?.status === 'True' && !isDeleting(object);
}

function causeOfInstance(object: Instance, world: World): Cause | undefined {
  const subject = { kind: 'Instance', object } as const;
  if (isReady(object)) return causeOfItself(subject, degradedCondition(object.conditions));
  // A terminating instance no longer depends on its volumes.
  for (const key of isDeleting(object) ? [] : mountedVolumes(object)) {
    const volume = findByKey(world.volumes, key);
    if (!volume || isUsableStatus(volume.status)) continue;
    const cause = causeOfStorage({ kind: 'Volume', object: volume }, world);
    if (cause) return through(subject, cause);
  }
  const report = crashOf(object) ?? unmetCondition(object.conditions);
  if (report) return causeOfItself(subject, report);
  const message = object.failureMessage ?? '';
  return message === '' ? undefined : causeOfItself(subject, { reason: 'Failed', message });
}

/** Ended objects come before objects in progress, which may only need time. */
function byUrgency(a: Instance, b: Instance): number {
  const ended = ({ status }: Instance): number =>
    Number(status === 'Failed' || status === 'Exited');
  return ended(b) - ended(a) || a.ordinal - b.ordinal;
}

function causeOfService(object: Service, world: World): Cause | undefined {
  const subject = { kind: 'Service', object } as const;
  const ready = findCondition(object.conditions, 'Ready');
  const isCurrent = object.observedGeneration === object.metadata.generation;
  const own = world.instances.filter(
    (instance) => instance.service === object.name && instance.namespace === object.namespace,
  );
  const live = own.filter((instance) => !isDeleting(instance));
  const shown = (live.length > 0 ? live : own).toSorted(byUrgency);
  // A problem of an instance that is ready comes last.
  const waiting = isCurrent && isReady(object) ? [] : shown.filter((each) => !isReady(each));
  for (const instance of [...waiting, ...shown.filter(isReady)]) {
    const cause = causeOfInstance(instance, world);
    if (cause) return through(subject, cause);
  }
  return ready?.status === 'True' ? undefined : causeOfItself(subject, unmetCondition([ready]));
}

/**
 * Returns the condition of a namespace that names the awaited objects: True until its removal. Undefined without one.
 */
function remainingOf(conditions: readonly Condition[] | undefined): ReportedProblem | undefined {
  const remaining = findCondition(conditions, 'ContentRemaining');
  return remaining?.status === 'True' ? remaining : undefined;
}

/** The deepest cause of an object's problem; undefined without a problem or a known cause. */
export function causeOf(subject: Subject, world: World): Cause | undefined {
  switch (subject.kind) {
    case 'Service':
      return causeOfService(subject.object, world);
    case 'Instance':
      return causeOfInstance(subject.object, world);
    case 'Volume':
    case 'Snapshot':
      return causeOfStorage(subject, world) ?? causeOfUsers(subject, world);
    case 'Node':
      return causeOfItself(subject, unmetCondition(subject.object.conditions));
    case 'Namespace':
      return causeOfItself(subject, remainingOf(subject.object.conditions));
  }
}
