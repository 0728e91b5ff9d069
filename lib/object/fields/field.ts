/** Any value that JSON has. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/**
 * Whether a field is there:
 *
 * - `required`: a creator must give it; it is always there.
 * - `filled`: a creator may leave it out; it is always there, with its default or its zero value.
 * - `optional`: it may be absent, and absent differs from every value.
 */
export type Presence = 'required' | 'filled' | 'optional';

/** What can be said of every field. */
export interface FieldOptions {
  /** One sentence for people; shown in the OpenAPI document. */
  readonly description?: string;
  /** A creator must give it: text and lists not empty, numbers and booleans explicitly. */
  readonly required?: boolean;
  /** It may not change once the object exists. Not for fields of list or map items. */
  readonly immutable?: boolean;
  /** Its value is kept out of error messages. Who may read the object is still shown it. */
  readonly sensitive?: boolean;
  /**
   * Its number in protobuf messages, 1 to 536,870,911. Absent: it follows from the name, so that a field
   * can be added anywhere. Give numbers where a .proto file is matched.
   */
  readonly number?: number;
}

/** Options of text. */
export interface StringOptions extends FieldOptions {
  /** `dns-label`, `dns-subdomain`, `quantity`, `absolute-path`, `date-time`, ...: see docs/guides/serving.md. */
  readonly format?: string;
  /** As in JSON schema: found anywhere unless anchored. Needs `maxLength`. */
  readonly pattern?: string;
  /** Characters. */
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
  /** Name of the protobuf enum; default: the field's, in PascalCase. */
  readonly name?: string;
}

/** Options of nested objects. */
export interface ObjectOptions extends FieldOptions {
  /** Name of the protobuf message; default: the field's, in PascalCase. */
  readonly name?: string;
  /** The message stands beside the kinds instead of inside the message that uses it first. */
  readonly topLevel?: boolean;
}

/** Options of lists and maps. */
export interface CollectionOptions extends FieldOptions {
  /** Items or entries. */
  readonly maxItems?: number;
}

/** What a field holds. One shape used in several places is one protobuf type. */
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

/** Every option that some field has. */
export type AnyFieldOptions = StringOptions &
  CollectionOptions &
  Omit<NumberOptions, 'default'> & { readonly default?: JsonValue };

/**
 * One field of a declared kind. Made by {@link string}, {@link list} and the like.
 *
 * @typeParam V what readers see
 * @typeParam In what a creator may give
 */
export interface Field<V, P extends Presence, In = V> {
  readonly shape: Shape;
  readonly options: Omit<AnyFieldOptions, 'default'> & { readonly default?: unknown };
  readonly presence: P;
  /** Set by {@link optional}: protobuf, too, tells an absent value from every other. */
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

/** Written out, so that editors show the fields. */
export type Simplify<T> = { [K in keyof T]: T[K] } & {};

type ValueOf<F> = F extends Field<infer V, Presence, unknown> ? V : never;
type InputOf<F> = F extends Field<unknown, Presence, infer In> ? In : never;
type Optional = Field<unknown, 'optional'>;
type Required = Field<unknown, 'required'>;

/** The object that fields describe, as it is read. */
export type ValuesOf<F extends Fields> = Simplify<
  { readonly [K in keyof F as F[K] extends Optional ? never : K]: ValueOf<F[K]> } & {
    readonly [K in keyof F as F[K] extends Optional ? K : never]?: ValueOf<F[K]>;
  }
>;

/** The object that fields describe, as a creator may give it. */
export type InputsOf<F extends Fields> = Simplify<
  { readonly [K in keyof F as F[K] extends Required ? K : never]: InputOf<F[K]> } & {
    readonly [K in keyof F as F[K] extends Required ? never : K]?: InputOf<F[K]>;
  }
>;
