import { isDeleting } from 'kedge/objects';
import type { Reason } from '../reasons/index.js';
import { labelOfSubject, type Subject, type World } from '../reasons/index.js';
import type { Cause } from './cause.js';
import type { ReportedProblem } from './reported-problem.js';

/** The fields of an event that an explanation uses. */
export interface ReportedEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly regarding: { readonly uid: string };
  readonly source: string;
}

/** The reasons of the events by which a refusal of a reconcile begins and ends. */
export const refusalReasons = {
  begin: 'ReconcileRefused',
  end: 'Reconciled',
} as const satisfies Readonly<Record<string, Reason>>;

/** The refusal of an object that has not ended: the last of both events of one source is its begin. */
function openRefusal(uid: string, events: readonly ReportedEvent[]): ReportedProblem | undefined {
  const judged = new Set<string>();
  for (const { regarding, source, reason, message } of events) {
    const isRelated = reason === refusalReasons.begin || reason === refusalReasons.end;
    if (!isRelated || regarding.uid !== uid || judged.has(source)) continue;
    if (reason === refusalReasons.begin) return { reason, message };
    judged.add(source);
  }
  return undefined;
}

/** The refusal of the reconcile of the object that reports a cause; undefined without one. Pure. @param events newest first */
export function refusalOf(
  { subject, object, path }: Cause,
  events: readonly ReportedEvent[],
): Cause | undefined {
  const refusal = openRefusal(subject.object.metadata.uid, events);
  return refusal && { ...refusal, subject, object, path };
}

/**
 * The refusal of the reconcile of an object, or of an instance of a service; undefined without one. Conditions do not
 * report it, because it may be their write that is refused. Pure.
 * @param events newest first
 */
export function causeByRefusal(
  subject: Subject,
  { instances }: World,
  events: readonly ReportedEvent[],
): Cause | undefined {
  const path = [labelOfSubject(subject)];
  const own = openRefusal(subject.object.metadata.uid, events);
  if (own) return { ...own, subject, object: path.join(), path };
  if (subject.kind !== 'Service') return undefined;
  const { namespace, name } = subject.object;
  for (const object of instances) {
    if (object.namespace !== namespace || object.service !== name || isDeleting(object)) continue;
    const refusal = openRefusal(object.metadata.uid, events);
    if (!refusal) continue;
    const instance = { kind: 'Instance', object } as const;
    const label = labelOfSubject(instance);
    return { ...refusal, subject: instance, object: label, path: [...path, label] };
  }
  return undefined;
}
