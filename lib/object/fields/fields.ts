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

/** A string; empty by default. */
export function string<const O extends StringOptions = Record<never, never>>(
  options?: O,
): Field<string, PresenceOf<O, 'filled'>> {
  return field({ type: 'string' }, { ...options }, 'filled');
}

/** A time as an RFC 3339 string; absent by default. */
export function dateTime<const O extends FieldOptions = Record<never, never>>(
  options?: O,
): Field<string, PresenceOf<O, 'optional'>> {
  return field({ type: 'string' }, { ...options, format: 'date-time' }, 'optional');
}

/** A boolean; false by default. */
export function boolean<const O extends BooleanOptions = Record<never, never>>(
  options?: O,
): Field<boolean, PresenceOf<O, 'filled'>> {
  return field({ type: 'boolean' }, { ...options }, 'filled');
}

/** A 32-bit integer; 0 by default. */
export function int32<const O extends NumberOptions = Record<never, never>>(
  options?: O,
): Field<number, PresenceOf<O, 'filled'>> {
  return field({ type: 'int32' }, { ...options }, 'filled');
}

/**
 * An integer from -(2^53 - 1) to 2^53 - 1, which a JavaScript number represents exactly; 0 by default. It is `int64`
 * in protobuf and a number in JSON.
 */
export function int64<const O extends NumberOptions = Record<never, never>>(
  options?: O,
): Field<number, PresenceOf<O, 'filled'>> {
  return field({ type: 'int64' }, { ...options }, 'filled');
}

/** A finite number; 0 by default. -0 becomes 0. */
export function double<const O extends NumberOptions = Record<never, never>>(
  options?: O,
): Field<number, PresenceOf<O, 'filled'>> {
  return field({ type: 'double' }, { ...options }, 'filled');
}

/**
 * One of these values; absent by default. Values in a record have these numbers in the protobuf enum, 1 or more. The
 * numbers of values in a list are derived from their names.
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

/** An object with these fields; by default with their defaults and zero values. */
export function object<F extends Fields, const O extends ObjectOptions = Record<never, never>>(
  fields: F,
  options?: O,
): Field<ValuesOf<F>, PresenceOf<O, 'filled'>, InputsOf<F>> {
  const { name, topLevel = false } = options ?? ({} as ObjectOptions);
  return field({ type: 'object', fields, name, topLevel }, { ...options }, 'filled');
}

/** A list; empty by default. Items can't be lists or maps. */
export function list<V, In, const O extends CollectionOptions = Record<never, never>>(
  of: Field<V, Presence, In>,
  options?: O,
): Field<readonly V[], PresenceOf<O, 'filled'>, readonly In[]> {
  return field({ type: 'list', of }, { ...options }, 'filled');
}

/** Values by name; empty by default. Values can't be lists or maps. */
export function map<V, In, const O extends CollectionOptions = Record<never, never>>(
  of: Field<V, Presence, In>,
  options?: O,
): Field<Readonly<Record<string, V>>, PresenceOf<O, 'filled'>, Readonly<Record<string, In>>> {
  return field({ type: 'map', of }, { ...options }, 'filled');
}

/**
 * Any JSON, including lists and scalars. Absent by default; `null` counts as absent. Only its depth is checked.
 * @typeParam V the type that the caller expects
 */
export function json<V = JsonValue, const O extends FieldOptions = Record<never, never>>(
  options?: O,
): Field<V, PresenceOf<O, 'optional'>> {
  return field({ type: 'json' }, { ...options }, 'optional');
}

/**
 * Makes the field optional: an absent value differs from false, 0, the empty string and every other value.
 * @throws TypeError for a required field or one with a default
 */
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
 * A field of the same shape with these options instead of those of `of`: both use one protobuf type. It is optional if
 * `of` is, unless it is now required or has a default.
 */
export function withOptions<V, P extends Presence, In, const O extends AnyFieldOptions>(
  of: Field<V, P, In>,
  options: O,
): Field<V, PresenceOf<O, P extends 'optional' ? 'optional' : 'filled'>, In> {
  const given: Record<string, unknown> = { ...(options as object) };
  const made = field<V, PresenceOf<O, P extends 'optional' ? 'optional' : 'filled'>, In>(
    of.shape,
    given,
    of.presence === 'optional' ? 'optional' : 'filled',
  );
  return of.explicit === true && made.presence === 'optional'
    ? Object.freeze({ ...made, explicit: true })
    : made;
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

/** A status field for the conditions of the library; see `setCondition`. */
export function conditions(options: FieldOptions = {}): Field<readonly Condition[], 'filled'> {
  return field({ type: 'list', of: condition }, { ...options }, 'filled');
}
