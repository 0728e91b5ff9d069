import { invalid, StatusError } from '../base/index.js';

/** A position in the history of a store. */
export interface Cursor {
  /** The last revision seen. */
  readonly revision: number;
  /** The store of this history; undefined for a bare decimal, which refers to the receiving store. */
  readonly storeId: string | undefined;
}

const form = /^(\d{1,16})(?:\.([\w-]{1,64}))?$/;

function read(text: string): Cursor | undefined {
  const [, digits, storeId] = form.exec(text) ?? [];
  const revision = Number(digits);
  return digits !== undefined && Number.isSafeInteger(revision) ? { revision, storeId } : undefined;
}

/** The text of a position in the history of the store with this id: `<revision>.<store id>`. */
export function formatCursor(revision: number, storeId: string): string {
  return `${revision}.${storeId}`;
}

/**
 * Parses a watch cursor in either form: `<revision>.<store id>`, or the revision alone.
 * @param field the field that the error names
 * @throws StatusError InvalidArgument (InvalidCursor) for anything else
 */
export function parseCursor(text: string, field = 'resourceVersion'): Cursor {
  const cursor = read(text);
  if (cursor) return cursor;
  throw invalidCursor(
    field,
    `${JSON.stringify(text)} is not a watch cursor of this API; use the resourceVersion of a list or of a watch message unchanged, or omit it`,
  );
}

function invalidCursor(field: string, description: string): StatusError {
  return new StatusError({
    code: 'InvalidArgument',
    reason: 'InvalidCursor',
    message: `${field}: ${description}`,
    violations: [{ field, description }],
  });
}

/**
 * The revision of a cursor that belongs to the history of the store with this id. A bare revision belongs to it too.
 * @throws StatusError InvalidArgument (InvalidCursor), OutOfRange (OtherStore)
 */
export function revisionIn(storeId: string, text: string, field?: string): number {
  const cursor = parseCursor(text, field);
  if (cursor.storeId === undefined || cursor.storeId === storeId) return cursor.revision;
  throw new StatusError({
    code: 'OutOfRange',
    reason: 'OtherStore',
    message: `${JSON.stringify(text)} is a watch cursor of another store; this store has id ${storeId}, because it was restored or replaced; list again and watch from the list's resourceVersion`,
  });
}

/**
 * Returns the revision if it is valid. Any other value is neither before nor after a revision, so a watch from it
 * would wait forever.
 * @param field the field that the error names
 * @throws StatusError InvalidArgument (InvalidCursor) unless it is a whole number, 0 or more
 */
export function requireRevision(revision: number, field = 'fromRevision'): number {
  if (Number.isSafeInteger(revision) && revision >= 0) return revision;
  const shown = typeof revision === 'string' ? JSON.stringify(revision) : String(revision);
  throw invalidCursor(
    field,
    `${shown} is not a revision; use a whole number, 0 or more, or "cursor" with the cursor of a list or batch`,
  );
}

/**
 * Returns the version unless it is a watch cursor, which is a position in the history of a whole store and can't
 * guard an object.
 * @param field the field that the error names
 * @throws StatusError InvalidArgument for a watch cursor
 */
export function requireObjectVersion(version: string, field = 'metadata.resourceVersion'): string {
  if (read(version)?.storeId === undefined) return version;
  const description = `${JSON.stringify(version)} is a watch cursor, not the version of an object; use the metadata.resourceVersion of the object that was read`;
  throw invalid([{ field, description }]);
}
