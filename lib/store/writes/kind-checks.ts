import { type FieldViolation, invalid, limits, StatusError } from '../../base/index.js';
import { type AnyKind, namespaceIndex } from '../../object/index.js';
import type { KeptIndexes } from '../index/kept-indexes.js';
import type { RecentChanges } from './recent-changes.js';
import type { KindCheck } from '../contract/operations.js';
import type { IndexSelection } from '../contract/reads.js';

/**
 * Validates an index and a value of a caller.
 * @throws StatusError InvalidArgument for a value without an index and the reverse, for `namespace` of a
 * cluster-scoped kind, and for an invalid value
 */
export function requireIndexSelection(kind: AnyKind, { index, value }: IndexSelection): void {
  const violations: FieldViolation[] = [];
  const wrong = (field: string, description: string): unknown =>
    violations.push({ field, description });
  if (index === undefined && value !== undefined)
    wrong('index', 'is missing: `value` needs the name of an index');
  if (index !== undefined && typeof value !== 'string')
    wrong('value', `is ${typeof value}; give an index value, a string`);
  if (typeof value === 'string' && value.length > limits.indexValueCharactersMax)
    wrong(
      'value',
      `has ${value.length} characters, and at most ${limits.indexValueCharactersMax} are allowed`,
    );
  if (index === namespaceIndex && kind.scope === 'Cluster')
    wrong('index', `"${index}" is not an index of ${kind.kind}, which is a cluster-scoped kind`);
  if (violations.length > 0) throw invalid(violations);
}

/** The context of a check. */
export interface KindCheckContext {
  readonly kept: KeptIndexes;
  readonly recent: RecentChanges;
  /** The last assigned revision. */
  readonly revision: number;
}

/**
 * Evaluates a check of a kind against all accepted writes, durable or pending.
 * @throws StatusError Aborted (Conflict), InvalidArgument
 */
export function requireUnchanged(check: KindCheck, context: KindCheckContext): void {
  const { kind, revision, index, value } = check;
  requireIndexSelection(kind, check);
  requireRevision(revision, context.revision);
  if (index === undefined) requireRarelyWritten(kind);
  const kept =
    index === undefined || index === namespaceIndex ? undefined : context.kept.require(kind, index);
  const last =
    index === undefined
      ? context.recent.ofKind(kind.kind)
      : context.recent.ofValue(kind.kind, kept, value);
  if (last.revision <= revision) return;
  // The value is not named, because it may be secret.
  const what =
    index === undefined ? kind.kind : `${kind.kind} under this value of index "${index}"`;
  const why = last.exact
    ? `an object was changed at revision ${last.revision}`
    : `changes are known only from revision ${last.revision} on`;
  throw new StatusError({
    code: 'Aborted',
    reason: 'Conflict',
    message: `${what} was read at revision ${revision}, and ${why}; read it again and repeat the decision`,
  });
}

function requireRevision(revision: number, assigned: number): void {
  if (Number.isSafeInteger(revision) && revision >= 0 && revision <= assigned) return;
  const description = `is ${revision}; give the revision of a list of this store, which is at ${assigned}`;
  throw invalid([{ field: 'revision', description }]);
}

/**
 * Checks that all objects of a kind may be checked at once.
 * @throws StatusError InvalidArgument for a kind without `rarelyWritten`
 */
function requireRarelyWritten(kind: AnyKind): void {
  if (kind.rarelyWritten) return;
  const description = `is missing: ${kind.kind} is not declared with rarelyWritten, so a check of all its objects would fail constantly; give an index and a value, such as ${namespaceIndex}`;
  throw invalid([{ field: 'index', description }]);
}
