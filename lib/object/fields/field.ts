/** Any JSON value. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/**
 * Presence of a field:
 *
 * - `required`: creations must set it.
 * - `filled`: creations may omit it; writes fill in its default or zero value.
 * - `optional`: it may be absent, which differs from every value.
 */
export type Presence = 'required' | 'filled' | 'optional';

/** Options of every field. */
export interface FieldOptions {
  /** A description in one sentence; shown in the OpenAPI document. */
  readonly description?: string;
  /** Creations must set it: text and lists must not be empty, numbers and booleans must be explicit. */
  readonly required?: boolean;
  /** The value can't change after the creation. Not for fields of list or map items. */
  readonly immutable?: boolean;
  /** The value is omitted from error messages. Readers of the object still see it. */
  readonly sensitive?: boolean;
  /**
   * Its number in protobuf messages, at most 536,870,911 and not 19,000 to 19,999. Top-level fields start at 5, because
   * every object has fields with lower numbers; fields of nested objects start at 1. Absent: derived from the name, so
   * that a field can be added anywhere. Set numbers to match an existing .proto file.
   */
  readonly number?: number;
}

/** Options of strings. */
export interface StringOptions extends FieldOptions {
  /** `dns-label`, `dns-subdomain`, `quantity`, `absolute-path`, `date-time`, ...: see docs/guides/serving.md. */
  readonly format?: string;
  /** A regular expression as in JSON schema: it matches anywhere unless anchored. Needs `maxLength`. */
  readonly pattern?: string;
  /** Maximum length in characters. */
  readonly maxLength?: number;
  readonly default?: string;
}

/** Options of numbers. A range without 0 needs `required`, `default` or {@link optional}. */
export interface NumberOptions extends FieldOptions {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}

/** Options of booleans. */
export interface BooleanOptions extends FieldOptions {
  readonly default?: boolean;
}

/** Options of an enumeration. */
export interface EnumOptions<V extends string> extends FieldOptions {
  readonly default?: V;
  /** Name of the protobuf enum; default: the name of the field in PascalCase. */
  readonly name?: string;
}

/** Options of nested objects. */
export interface ObjectOptions extends FieldOptions {
  /** Name of the protobuf message; default: the name of the field in PascalCase. */
  readonly name?: string;
  /** True declares the message at the top level instead of inside the message that uses it first. */
  readonly topLevel?: boolean;
}

/** Options of lists and maps. */
export interface CollectionOptions extends FieldOptions {
  /** Maximum number of items or entries. */
  readonly maxItems?: number;
}

/** The type of a field's value. A shape that is used in several places is one protobuf type. */
export type Shape =
  | { readonly type: 'string' | 'boolean' | 'int32' | 'int64' | 'double' | 'json' }
  | {
      readonly type: 'enum';
      readonly values: readonly string[];
      readonly numbers: Readonly<Record<string, number>>;
      readonly name: string | undefined;
    }
  | {
      readonly type: 'object';
      readonly fields: Fields;
      readonly name: string | undefined;
      readonly topLevel: boolean;
    }
  | { readonly type: 'list' | 'map'; readonly of: AnyField };

/** The options of all field types. */
export type AnyFieldOptions = StringOptions &
  CollectionOptions &
  Omit<NumberOptions, 'default'> & { readonly default?: JsonValue };

/**
 * One field of a declared kind. Create it with {@link string}, {@link list} and the other field functions.
 *
 * @typeParam V type of the stored value
 * @typeParam In type of the value in a creation
 */
export interface Field<V, P extends Presence, In = V> {
  readonly shape: Shape;
  readonly options: Omit<AnyFieldOptions, 'default'> & { readonly default?: unknown };
  readonly presence: P;
  /** Set by {@link optional}: protobuf then distinguishes an absent value. */
  readonly explicit?: boolean;
  /** Carries the type; never set. */
  readonly _value?: V;
  /** Carries the type; never set. */
  readonly _input?: In;
}

/** Any field. */
export type AnyField = Field<unknown, Presence>;

/** Fields by name. */
export type Fields = Readonly<Record<string, AnyField>>;

/** Expands an intersection, so that editors show the fields. */
export type Simplify<T> = { [K in keyof T]: T[K] } & {};

type ValueOf<F> = F extends Field<infer V, Presence, unknown> ? V : never;
type InputOf<F> = F extends Field<unknown, Presence, infer In> ? In : never;
type Optional = Field<unknown, 'optional'>;
type Required = Field<unknown, 'required'>;

/** The type of a stored object with these fields. */
export type ValuesOf<F extends Fields> = Simplify<
  { readonly [K in keyof F as F[K] extends Optional ? never : K]: ValueOf<F[K]> } & {
    readonly [K in keyof F as F[K] extends Optional ? K : never]?: ValueOf<F[K]>;
  }
>;

/** The object type of creations with these fields. */
export type InputsOf<F extends Fields> = Simplify<
  { readonly [K in keyof F as F[K] extends Required ? K : never]: InputOf<F[K]> } & {
    readonly [K in keyof F as F[K] extends Required ? never : K]?: InputOf<F[K]>;
  }
>;
