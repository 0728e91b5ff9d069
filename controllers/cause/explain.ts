import {
  type About,
  entryOf,
  labelOfSubject,
  type Remedy,
  type Subject,
  type World,
} from '../reasons/index.js';
import { type Cause, causeOf } from './cause.js';
import { causeByRefusal, refusalOf, type ReportedEvent } from './refusals.js';
import { isSettledStatus } from './settled-status.js';

/** The cause of an object's state and the remedy. */
export interface Explanation extends Cause {
  /** The meaning of the reason; empty for a reason of another release. */
  readonly meaning: string;
  /** Undefined for a reason of another release. */
  readonly remedy: Remedy | undefined;
}

/**
 * The cause of an object's problem and its remedy; undefined without a problem. Without a condition and a driver error, or
 * with one that only asks to wait, a refused reconcile explains it: the object does not continue. If nothing does, and
 * its status is not settled, the last event of the object does, if it is a warning.
 * @param events newest first; also those of the instances of a service, and of the object that asks to wait
 */
export function explain(
  subject: Subject,
  world: World,
  events: readonly ReportedEvent[] = [],
): Explanation | undefined {
  const reported = causeOf(subject, world);
  const found = reported && explained(reported, world);
  if (found && found.remedy?.type !== 'wait') return found;
  const refusal = (found && refusalOf(found, events)) ?? causeByRefusal(subject, world, events);
  // Waiting does not help while the reconcile of the waiting object, or of an instance of it, is refused.
  if (found && !refusal?.path.includes(found.object)) return found;
  const cause = refusal ?? causeByEvent(subject, events);
  return cause && explained(cause, world);
}

function explained(cause: Cause, world: World): Explanation {
  const entry = entryOf(cause.reason);
  const about = { ...cause.subject, message: cause.message, world } as About;
  return {
    ...cause,
    meaning: entry?.meaning ?? '',
    remedy: entry?.type === 'unmet' ? entry.remedy(about) : undefined,
  };
}

function causeByEvent(subject: Subject, events: readonly ReportedEvent[]): Cause | undefined {
  if (isSettledStatus(subject.object.status)) return undefined;
  const { uid } = subject.object.metadata;
  const last = events.find(({ regarding }) => regarding.uid === uid);
  // Warnings before the last event no longer apply.
  if (last?.type !== 'Warning') return undefined;
  const object = labelOfSubject(subject);
  return { object, subject, reason: last.reason, message: last.message, path: [object] };
}

/** `Volume default/data: its message`, without the object if it is the explained one. */
export function causeText(explanation: Cause | undefined, asked: string): string {
  if (!explanation) return '';
  const { object, message } = explanation;
  return object === asked ? message : `${object}: ${message}`;
}
