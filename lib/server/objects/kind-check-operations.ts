import { type FieldViolation, invalid } from '../../base/index.js';
import { namespaceIndex } from '../../object/index.js';
import { isJsonObject, type JsonObject, textOf } from '../../rpc/index.js';
import type { IndexSelection, KindCheck } from '../../store/index.js';
import type { ServedKind } from '../api/served-kind.js';
import type { Access } from '../auth/index.js';

/** A check of a kind in a remote transaction, read but not judged. */
export interface GivenKindCheck {
  readonly type: 'CHECK_KIND';
  readonly served: ServedKind;
  readonly check: KindCheck;
}

const revisionForm = /^\d{1,16}$/;

/** Index and value of a request; the store refuses one without the other. */
export function indexSelection(request: JsonObject): IndexSelection {
  const index = textOf(request, 'index');
  const value = textOf(request, 'value');
  if (index !== '') return { index, value };
  return (value === '' ? {} : { value }) as IndexSelection;
}

/** @throws StatusError InvalidArgument naming the field */
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
 * The rights to a list, or a check, by index: to list where its objects are, and to see what is masked
 * where the index may have been made of that.
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
