import { type FieldViolation, invalid } from '../../base/index.js';
import { namespaceIndex } from '../../object/index.js';
import { isJsonObject, type JsonObject, textOf } from '../../rpc/index.js';
import type { IndexSelection, KindCheck } from '../../store/index.js';
import type { ServedKind } from '../api/served-kind.js';
import type { Access } from '../auth/index.js';

/** A check of a kind in a remote transaction, parsed but not validated. */
export interface GivenKindCheck {
  readonly type: 'CHECK_KIND';
  readonly served: ServedKind;
  readonly check: KindCheck;
}

const revisionForm = /^\d{1,16}$/;

/**
 * Returns the index and the value of a request. Both may be present or absent; the store refuses one without the other.
 */
export function indexSelection(request: JsonObject): IndexSelection {
  const index = textOf(request, 'index');
  const value = textOf(request, 'value');
  if (index !== '') return { index, value };
  return (value === '' ? {} : { value }) as IndexSelection;
}

/**
 * Parses a check of a kind.
 * @throws StatusError InvalidArgument that names the field
 */
export function parseKindCheck(given: JsonObject, served: ServedKind, at: string): GivenKindCheck {
  const violations: FieldViolation[] = [];
  const check = isJsonObject(given.kindCheck) ? given.kindCheck : {};
  const revision = textOf(check, 'revision');
  if (!revisionForm.test(revision)) {
    const description = `${JSON.stringify(revision)} is not a revision; use the part before the dot of the cursor of a list`;
    violations.push({ field: `${at}.kindCheck.revision`, description });
  }
  if (textOf(given, 'name') !== '')
    violations.push({ field: `${at}.name`, description: 'must be empty for a check of a kind' });
  if (isJsonObject(given.precondition) && Object.keys(given.precondition).length > 0)
    violations.push({
      field: `${at}.precondition`,
      description: 'must be omitted for a check of a kind',
    });
  if (violations.length > 0) throw invalid(violations);
  const { kind } = served;
  return {
    type: 'CHECK_KIND',
    served,
    check: { op: 'checkKind', kind, revision: Number(revision), ...indexSelection(check) },
  };
}

/**
 * The rights that a list or check by index needs: to list in the namespace, and to read hidden values if the index
 * may depend on them.
 */
export function accessesByIndex(
  { kind, rules }: ServedKind,
  { index, value }: IndexSelection,
  namespace: string | undefined,
): readonly Access[] {
  const { plural: resource } = kind;
  const where =
    kind.scope === 'Cluster' ? undefined : index === namespaceIndex ? value : (namespace ?? '*');
  const list = { resource, verb: 'list', namespace: where };
  const shows =
    index === undefined || index === namespaceIndex || rules.visibleIndexes?.includes(index);
  if (shows || !rules.present) return [list];
  return [list, { ...list, verb: 'reveal' }];
}
