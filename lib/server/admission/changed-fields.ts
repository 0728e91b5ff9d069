import {
  fieldsOf,
  type AnyKind,
  type ApiObject,
  jsonEqual,
  type ObjectMeta,
} from '../../object/index.js';

/** Metadata fields that an update replaces if they are present. */
const metadataFields = ['annotations', 'expiresAt'] as const;

/**
 * The changed fields of an update: names of top-level fields without status, and `metadata.annotations` and
 * `metadata.expiresAt`.
 */
export function changedFields(
  kind: AnyKind,
  object: ApiObject,
  before: ApiObject | undefined,
): readonly string[] {
  const now = fieldsOf(object);
  const then = fieldsOf(before ?? {});
  const names = new Set([...Object.keys(now), ...Object.keys(then)]);
  const fields = [...names].filter(
    (name) =>
      name !== 'metadata' &&
      !kind.statusFields.includes(name) &&
      !jsonEqual(now[name] ?? emptyOf(name), then[name] ?? emptyOf(name)),
  );
  const given = object.metadata as Partial<ObjectMeta> | undefined;
  const metadata = metadataFields.filter(
    (name) =>
      given?.[name] !== undefined &&
      !jsonEqual(given[name], before?.metadata[name] ?? emptyOf(name)),
  );
  return [...fields, ...metadata.map((name) => `metadata.${name}`)];
}

/** The empty value of a field for which absent and empty are equal: labels, annotations. */
function emptyOf(name: string): object | undefined {
  return name === 'annotations' || name === 'labels' ? {} : undefined;
}
