import { type ApiObject, isDeleting, jsonEqual, type Kind, valueAt } from '../../object/index.js';

/** Decides whether an update queues its key. Adds and deletes always do. */
export type Predicate<T extends ApiObject> = (before: T, object: T) => boolean;

/**
 * Passes if a field outside of status and metadata changed (labels are outside of metadata), or deletion was requested.
 */
export function generationChanged<T extends ApiObject>(): Predicate<T> {
  return (before, object) =>
    before.metadata.generation !== object.metadata.generation ||
    // A server of an earlier release does not increase the generation for a deletion.
    isDeleting(before) !== isDeleting(object);
}

/** Passes if labels changed. */
export function labelsChanged<T extends ApiObject>(): Predicate<T> {
  return (before, object) => !jsonEqual(before.labels ?? {}, object.labels ?? {});
}

/** Passes if annotations changed. */
export function annotationsChanged<T extends ApiObject>(): Predicate<T> {
  return (before, object) =>
    !jsonEqual(before.metadata.annotations ?? {}, object.metadata.annotations ?? {});
}

/** Passes if one of these fields changed; dots reach into nested objects. */
export function fieldsChanged<T extends ApiObject>(...paths: readonly string[]): Predicate<T> {
  return (before, object) =>
    paths.some((path) => !jsonEqual(valueAt(before, path), valueAt(object, path)));
}

/** Passes if a status field changed. */
export function statusChanged<T extends ApiObject>(kind: Kind<T>): Predicate<T> {
  return fieldsChanged(...kind.statusFields);
}

/** Passes if at least one of these predicates passes. */
export function anyOf<T extends ApiObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (before, object) => predicates.some((predicate) => predicate(before, object));
}

/** Passes if all of these predicates pass. */
export function allOf<T extends ApiObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (before, object) => predicates.every((predicate) => predicate(before, object));
}

/** Passes if the predicate does not pass. */
export function not<T extends ApiObject>(predicate: Predicate<T>): Predicate<T> {
  return (before, object) => !predicate(before, object);
}
