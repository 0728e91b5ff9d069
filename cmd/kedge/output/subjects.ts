import { type AnyKind, keyString } from 'kedge/objects';
import type { JsonObject } from 'kedge/rpc';
import {
  causeOf,
  causeText,
  explainedKinds,
  type Subject,
  type World,
} from '@kedge/controllers/cause';

const explained: readonly string[] = explainedKinds;

/** Whether objects of a kind have a state that can be explained. */
export function isExplained({ kind }: AnyKind): boolean {
  return explained.includes(kind);
}

/** An object of a kind that can be explained; undefined for another kind. */
export function subjectOf(kind: AnyKind, object: JsonObject): Subject | undefined {
  return isExplained(kind) ? ({ kind: kind.kind, object } as unknown as Subject) : undefined;
}

/** The problem of an object in one sentence; undefined without one. */
export function causeIn(world: World, kind: AnyKind, object: JsonObject): string | undefined {
  const subject = subjectOf(kind, object);
  const cause = subject && causeOf(subject, world);
  return cause && causeText(cause, cause.path[0] ?? '');
}

/** Returns kind and key of an object, such as `Volume default/data`. */
export function labelOf(kind: AnyKind, object: JsonObject): string {
  const name = String(object.name);
  const namespace = typeof object.namespace === 'string' ? object.namespace : undefined;
  return `${kind.kind} ${keyString(namespace ? { namespace, name } : { name })}`;
}
