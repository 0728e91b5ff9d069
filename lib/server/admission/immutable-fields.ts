import type { FieldViolation } from '../../base/index.js';
import { type ApiObject, jsonEqual, valueAt } from '../../object/index.js';
import type { AdmissionRules } from '../api/admission-rules.js';

/** An update to check. */
export interface ImmutableWrite {
  /** As received. */
  readonly given: ApiObject;
  /** As prepared by the rules of its kind. */
  readonly object: ApiObject;
  /** The stored object. */
  readonly before: ApiObject;
}

/** Options of the check of immutable fields. */
export interface ImmutableRules {
  readonly paths: readonly string[];
  readonly rules: AdmissionRules;
  readonly isSensitive: (path: string) => boolean;
  /** Whether the writer may read values that `present` hides. */
  readonly reveals: () => Promise<boolean>;
}

/**
 * A violation for each immutable field that an update changes. Hidden values are not quoted. A hidden value from a
 * writer that may not read it always counts as a change, so that it can't be guessed.
 */
export async function changedImmutables(
  { given, object, before }: ImmutableWrite,
  { paths, rules, isSensitive, reveals }: ImmutableRules,
): Promise<readonly FieldViolation[]> {
  const shown = rules.present?.(before, false) ?? before;
  const violations: FieldViolation[] = [];
  for (const field of paths) {
    const stored = valueAt(before, field);
    const isHidden = !jsonEqual(valueAt(shown, field), stored);
    if (jsonEqual(valueAt(object, field), stored)) {
      const isGuess = isHidden && jsonEqual(valueAt(given, field), stored);
      if (!isGuess || (await reveals())) continue;
    }
    const now = JSON.stringify(valueAt(object, field));
    const change =
      isHidden || isSensitive(field)
        ? 'it has a different value'
        : `it is ${JSON.stringify(stored)} and can't become ${now}`;
    violations.push({
      field,
      description: `is immutable: ${change}; delete the object and create it again`,
    });
  }
  return violations;
}
