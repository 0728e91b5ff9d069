import { labelOfSubject, type Subject } from '../reasons/index.js';
import { explain, type Explanation } from './explain.js';
import { gather, type Reader } from './gather.js';
import { refusalReasons, type ReportedEvent } from './refusals.js';

/** An event with the time of its last occurrence. */
export interface DatedEvent extends ReportedEvent {
  readonly lastSeenAt: string;
}

/** Reads the events of a namespace that match a field selector; empty without the right to read them. */
export type EventReader = (
  namespace: string,
  fieldSelector: string,
) => Promise<readonly DatedEvent[]>;

/** The events that may explain an object, newest first: its own, and for a service the refusals of its instances. */
async function eventsAbout(
  subjects: readonly Subject[],
  eventsWhere: EventReader,
): Promise<readonly DatedEvent[]> {
  const reads = subjects.flatMap(({ kind, object }) => {
    const namespace = 'namespace' in object ? object.namespace : 'default';
    const ofInstances = Object.values(refusalReasons).map(
      (reason) => `regarding.kind=Instance,reason=${reason}`,
    );
    return [
      `regarding.kind=${kind},regarding.name=${object.name}`,
      ...(kind === 'Service' ? ofInstances : []),
    ].map((selector) => eventsWhere(namespace, selector));
  });
  return newestFirst((await Promise.all(reads)).flat());
}

/** The same events, with the latest one first. */
export function newestFirst<T extends DatedEvent>(events: readonly T[]): readonly T[] {
  return events.toSorted((a, b) => b.lastSeenAt.localeCompare(a.lastSeenAt));
}

/** The problem of an object; undefined without one. Events are read unless the objects explain it without a wait. */
export async function readExplanation(
  reader: Reader,
  eventsWhere: EventReader,
  subject: Subject,
): Promise<Explanation | undefined> {
  const world = await gather(reader, subject);
  const found = explain(subject, world);
  if (found && found.remedy?.type !== 'wait') return found;
  const others = found && found.object !== labelOfSubject(subject) ? [found.subject] : [];
  return explain(subject, world, await eventsAbout([subject, ...others], eventsWhere));
}
