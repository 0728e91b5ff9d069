import {
  type AnyField,
  type AnyKind,
  type ApiObject,
  boolean,
  checkFields,
  type DeclaredKind,
  type Fields,
  int32,
  json,
  type Kind,
  list,
  map,
  optional,
  string,
} from '../../object/index.js';
import { limits } from '../../base/index.js';
import type { AdmissionRules } from './admission-rules.js';

/** The type of a field of a kind with its own message type, and its rules. */
export interface FieldSpec {
  /** `integer` has 32 bits; `map` has string values; `json` is any JSON. */
  readonly type: 'string' | 'integer' | 'boolean' | 'strings' | 'map' | 'json';
  readonly required?: boolean;
  /** The value can't change after the creation. */
  readonly immutable?: boolean;
  /** Only for type `string`, such as `dns-label`, `quantity` or `absolute-path`: see docs/guides/serving.md. */
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

/** A spec, or its type alone. */
type FieldInit = FieldSpec | FieldSpec['type'];

/** The fields of an object type except those of every object. */
export type FieldsOf<T extends ApiObject> = {
  readonly [F in Exclude<keyof T & string, keyof ApiObject>]-?: FieldInit;
};

/** A served kind with its fields and rules. Create it with {@link mount}. */
export interface MountedKind {
  readonly kind: AnyKind;
  /** Fields that clients write. */
  readonly fields: Fields;
  readonly status: Fields;
  readonly rules: AdmissionRules;
}

/** Mounts a kind of `declareKind` with the rules of its writes. */
export function mount<T extends ApiObject>(
  kind: Kind<T> & Pick<DeclaredKind, 'declaration'>,
  rules?: AdmissionRules<T>,
): MountedKind;
/**
 * Mounts a kind whose type is an interface, with a table of its fields; the compiler requires every field. Unlike
 * those of a declared kind, its objects are stored without completion.
 * @throws TypeError that names an invalid field
 */
export function mount<T extends ApiObject>(
  kind: Kind<T>,
  fields: FieldsOf<T>,
  rules?: AdmissionRules<T>,
): MountedKind;
export function mount(
  kind: AnyKind,
  second: AdmissionRules | Readonly<Record<string, FieldInit>> = {},
  third: AdmissionRules = {},
): MountedKind {
  const { declaration } = kind;
  if (declaration) {
    const { fields, status } = declaration;
    return { kind, fields, status, rules: second };
  }
  const all = Object.entries(second as Readonly<Record<string, FieldInit>>);
  const part = (isStatus: boolean): Fields =>
    Object.fromEntries(
      all
        .filter(([name]) => kind.statusFields.includes(name) === isStatus)
        .map(([name, init]) => [name, fieldOf(typeof init === 'string' ? { type: init } : init)]),
    );
  const [fields, status] = [part(false), part(true)];
  checkFields(kind.kind, { ...fields, ...status }, limits);
  return { kind, fields, status, rules: third };
}

function fieldOf({ type, format, minimum, maximum, maxLength, ...options }: FieldSpec): AnyField {
  const range = {
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
  };
  switch (type) {
    case 'string':
      return string({
        ...options,
        ...(format === undefined ? {} : { format }),
        ...(maxLength === undefined ? {} : { maxLength }),
      });
    case 'integer': {
      // A range that excludes 0 needs field presence: otherwise 0 cannot be distinguished from an absent value and
      // refused.
      const excludesZero = (minimum ?? 0) > 0 || (maximum ?? 0) < 0;
      const field = int32({ ...options, ...range });
      return excludesZero && options.required !== true ? optional(field) : field;
    }
    case 'boolean':
      return boolean(options);
    case 'strings':
      return list(string(), options);
    case 'map':
      return map(string(), options);
    case 'json':
      return json(options);
  }
}
