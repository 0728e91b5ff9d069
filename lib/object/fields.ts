import type { Condition } from './conditions.js';

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

type PresenceOf<O, Else extends Presence> = O extends { readonly required: true }
  ? 'required'
  : O extends { readonly default: unknown }
    ? 'filled'
    : Else;

function field<V, P extends Presence, In = V>(
  shape: Shape,
  { name: _, topLevel: __, ...options }: Record<string, unknown>,
  otherwise: Presence,
): Field<V, P, In> {
  const presence =
    options.required === true ? 'required' : options.default === undefined ? otherwise : 'filled';
  return Object.freeze({
    shape: Object.freeze(shape),
    options: Object.freeze(options),
    presence: presence as P,
  });
}

/** Text; empty when it is not given. */
export function string<const O extends StringOptions = Record<never, never>>(
  options?: O,
): Field<string, PresenceOf<O, 'filled'>> {
  return field({ type: 'string' }, { ...options }, 'filled');
}

/** A time as text, RFC 3339; absent when it is not given. */
export function dateTime<const O extends FieldOptions = Record<never, never>>(
  options?: O,
): Field<string, PresenceOf<O, 'optional'>> {
  return field({ type: 'string' }, { ...options, format: 'date-time' }, 'optional');
}

/** True or false; false when it is not given. */
export function boolean<const O extends BooleanOptions = Record<never, never>>(
  options?: O,
): Field<boolean, PresenceOf<O, 'filled'>> {
  return field({ type: 'boolean' }, { ...options }, 'filled');
}

/** A whole number of 32 bits; 0 when it is not given. */
export function int32<const O extends NumberOptions = Record<never, never>>(
  options?: O,
): Field<number, PresenceOf<O, 'filled'>> {
  return field({ type: 'int32' }, { ...options }, 'filled');
}

/**
 * A whole number from -(2^53 - 1) to 2^53 - 1, which is what a JavaScript number holds exactly; 0 when
 * it is not given. `int64` in protobuf, a number in JSON.
 */
export function int64<const O extends NumberOptions = Record<never, never>>(
  options?: O,
): Field<number, PresenceOf<O, 'filled'>> {
  return field({ type: 'int64' }, { ...options }, 'filled');
}

/** A finite number; 0 when it is not given, and for -0. */
export function double<const O extends NumberOptions = Record<never, never>>(
  options?: O,
): Field<number, PresenceOf<O, 'filled'>> {
  return field({ type: 'double' }, { ...options }, 'filled');
}

/**
 * One of these words; absent when it is not given. A record gives the numbers of the protobuf enum,
 * from 1; for a list they follow from the words.
 */
export function enumeration<
  const V extends string,
  const O extends EnumOptions<NoInfer<V>> = Record<never, never>,
>(
  values: readonly V[] | Readonly<Record<V, number>>,
  options?: O,
): Field<V, PresenceOf<O, 'optional'>> {
  const listed = Array.isArray(values);
  const shape: Shape = {
    type: 'enum',
    values: listed ? [...(values as readonly string[])] : Object.keys(values),
    numbers: listed ? {} : { ...(values as Readonly<Record<string, number>>) },
    name: options?.name,
  };
  return field(shape, { ...options }, 'optional');
}

/** An object with these fields; with their defaults and zero values when it is not given. */
export function object<F extends Fields, const O extends ObjectOptions = Record<never, never>>(
  fields: F,
  options?: O,
): Field<ValuesOf<F>, PresenceOf<O, 'filled'>, InputsOf<F>> {
  const { name, topLevel = false } = options ?? ({} as ObjectOptions);
  return field({ type: 'object', fields, name, topLevel }, { ...options }, 'filled');
}

/** A list; empty when it is not given, so never absent. Items are no lists and no maps. */
export function list<V, In, const O extends CollectionOptions = Record<never, never>>(
  of: Field<V, Presence, In>,
  options?: O,
): Field<readonly V[], PresenceOf<O, 'filled'>, readonly In[]> {
  return field({ type: 'list', of }, { ...options }, 'filled');
}

/** Values by name; empty when it is not given, so never absent. Values are no lists and no maps. */
export function map<V, In, const O extends CollectionOptions = Record<never, never>>(
  of: Field<V, Presence, In>,
  options?: O,
): Field<Readonly<Record<string, V>>, PresenceOf<O, 'filled'>, Readonly<Record<string, In>>> {
  return field({ type: 'map', of }, { ...options }, 'filled');
}

/**
 * Any JSON: also a list or a scalar. Absent when it is not given; `null` is absent. Nothing in it is
 * checked but its depth.
 * @typeParam V what the caller knows it to be
 */
export function json<V = JsonValue, const O extends FieldOptions = Record<never, never>>(
  options?: O,
): Field<V, PresenceOf<O, 'optional'>> {
  return field({ type: 'json' }, { ...options }, 'optional');
}

/** The field, absent when it is not given: absent differs from false, 0, empty text and every value. */
export function optional<V, In>(of: Field<V, Presence, In>): Field<V, 'optional', In> {
  const { required, default: fallback } = of.options;
  if (required === true || fallback !== undefined)
    throw new TypeError(
      `optional(): a field that is ${required === true ? 'required' : 'given a default'} is never absent`,
    );
  const { shape, options } = of;
  return Object.freeze({ shape, options, presence: 'optional' as const, explicit: true });
}

/**
 * A field of the same shape with these options instead of its own: the two are one protobuf type.
 * Optional where `of` is, unless it is required or has a default now.
 */
export function withOptions<V, P extends Presence, In, const O extends AnyFieldOptions>(
  of: Field<V, P, In>,
  options: O,
): Field<V, PresenceOf<O, P extends 'optional' ? 'optional' : 'filled'>, In> {
  const given: Record<string, unknown> = { ...(options as object) };
  return field(of.shape, given, of.presence === 'optional' ? 'optional' : 'filled');
}

const condition = object(
  {
    type: string({ required: true }),
    status: enumeration({ True: 1, False: 2, Unknown: 3 }, { required: true }),
    reason: string(),
    message: string(),
    observedGeneration: optional(int64()),
    lastTransitionAt: string(),
  },
  { name: 'Condition', topLevel: true },
);

/** A status field for the library's conditions; see `setCondition`. */
export function conditions(options: FieldOptions = {}): Field<readonly Condition[], 'filled'> {
  return field({ type: 'list', of: condition }, { ...options }, 'filled');
}
