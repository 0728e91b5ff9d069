import type { AnyKind, ApiObject, Kind } from '../../object/index.js';
import type { AdmissionRules } from './admission-rules.js';

/** A kind that is served, with its rules. */
export interface ServedKind<T extends ApiObject = ApiObject> {
  readonly kind: AnyKind;
  /** Name of its message in the descriptor set. */
  readonly message: string;
  readonly rules: AdmissionRules<T>;
}

/** Declares a served kind; its object type is checked here and erased after. */
export function serve<T extends ApiObject>(
  kind: Kind<T>,
  message: string,
  rules: AdmissionRules<T> = {},
): ServedKind {
  return { kind: kind, message, rules: rules };
}
