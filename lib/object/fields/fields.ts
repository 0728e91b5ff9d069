import type { Condition } from './conditions.js';
import type {
  JsonValue,
  Presence,
  FieldOptions,
  StringOptions,
  NumberOptions,
  BooleanOptions,
  EnumOptions,
  ObjectOptions,
  CollectionOptions,
  Shape,
  AnyFieldOptions,
  Field,
  Fields,
  ValuesOf,
  InputsOf,
} from './field.js';

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
 * Any JSON: also a list or a scalar. Absent when it is not given; `null` is absent. Only its depth is checked.
 * @typeParam V the type that the caller expects
 */
export function json<V = JsonValue, const O extends FieldOptions = Record<never, never>>(
  options?: O,
): Field<V, PresenceOf<O, 'optional'>> {
  return field({ type: 'json' }, { ...options }, 'optional');
}

/** Makes the field optional: an absent value differs from false, 0, empty text and every other value. */
export function optional<V, In>(of: Field<V, Presence, In>): Field<V, 'optional', In> {
  const { required, default: fallback } = of.options;
  if (required === true || fallback !== undefined)
    throw new TypeError(
      `optional(): a field that ${required === true ? 'is required' : 'has a default'} is never absent`,
    );
  const { shape, options } = of;
  return Object.freeze({ shape, options, presence: 'optional' as const, explicit: true });
}

/**
 * A field of the same shape with other options: both use one protobuf type. Optional where `of` is, unless it is
 * required or has a default now.
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
