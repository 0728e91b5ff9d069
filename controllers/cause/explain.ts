import {
  type About,
  entryOf,
  labelOfSubject,
  type Remedy,
  type Subject,
  type World,
} from '../reasons/index.js';
import { type Cause, causeOf } from './cause.js';

/** Why an object is as it is, and what to do. */
export interface Explanation extends Cause {
  /** The meaning of the reason; empty for one of another release. */
  readonly meaning: string;
  /** Undefined for a reason of another release. */
  readonly remedy: Remedy | undefined;
}

/** An event about an object, as far as it explains something. */
export interface ToldEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/**
 * Why an object is not as it should be, and what to do about it; undefined when there is nothing to explain. Where
 * no condition and no driver says anything, the last warning among its events does.
 * @param events newest first
 */
export function explain(
  subject: Subject,
  world: World,
  events: readonly ToldEvent[] = [],
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

function causeByEvent(subject: Subject, events: readonly ToldEvent[]): Cause | undefined {
  const [last] = events;
  // Whatever warned before the last event is over.
  if (last?.type !== 'Warning') return undefined;
  const object = labelOfSubject(subject);
  return { object, subject, reason: last.reason, message: last.message, path: [object] };
}

/** `Volume default/data: its message`, without the object where that is what was asked about. */
export function causeText(explanation: Cause | undefined, asked: string): string {
  if (!explanation) return '';
  const { object, message } = explanation;
  return object === asked ? message : `${object}: ${message}`;
}
