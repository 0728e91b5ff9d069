import type { AnyKind, ApiObject, Kind } from '../../object/index.js';
import type { AdmissionRules } from './admission-rules.js';

/** A served kind with its rules. */
export interface ServedKind<T extends ApiObject = ApiObject> {
  readonly kind: AnyKind;
  /** Full name of its message in the descriptor set. */
  readonly message: string;
  readonly rules: AdmissionRules<T>;
}

/** Returns a served kind with its rules. The object type is checked here and erased in the result. */
export function serve<T extends ApiObject>(
  kind: Kind<T>,
  message: string,
  rules: AdmissionRules<T> = {},
): ServedKind {
  return { kind: kind, message, rules: rules };
}
