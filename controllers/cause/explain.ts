import {
  type About,
  entryOf,
  labelOfSubject,
  type Remedy,
  type Subject,
  type World,
} from '../reasons/index.js';
import { type Cause, causeOf } from './cause.js';

/** The cause of an object's state and the remedy. */
export interface Explanation extends Cause {
  /** The meaning of the reason; empty for a reason of another release. */
  readonly meaning: string;
  /** Undefined for a reason of another release. */
  readonly remedy: Remedy | undefined;
}

/** The fields of an event that an explanation uses. */
export interface ReportedEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/**
 * The cause of an object's problem and its remedy; undefined without a problem. If no condition and no driver error
 * explains it, the last event of the object does, if it is a warning.
 * @param events newest first
 */
export function explain(
  subject: Subject,
  world: World,
  events: readonly ReportedEvent[] = [],
): Explanation | undefined {
  const cause = causeOf(subject, world) ?? causeByEvent(subject, events);
  if (!cause) return undefined;
  const entry = entryOf(cause.reason);
  const about = { ...cause.subject, message: cause.message, world } as About;
  return {
    ...cause,
    meaning: entry?.meaning ?? '',
    remedy: entry?.type === 'unmet' ? entry.remedy(about) : undefined,
  };
}

function causeByEvent(subject: Subject, events: readonly ReportedEvent[]): Cause | undefined {
  const [last] = events;
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
