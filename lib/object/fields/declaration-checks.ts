import type { AnyField, Fields, Shape } from './field.js';
import { isFieldNumber, numberFromName } from './field-numbers.js';
import { patternProblem } from './pattern-cost.js';

/** Maximum nesting, number of fields and number of values of an enumeration in a declaration. */
export interface DeclarationLimits {
  readonly declaredDepthMax: number;
  readonly declaredFieldsMax: number;
  readonly declaredEnumValuesMax: number;
}

const fieldName = /^[a-z][A-Za-z0-9]{0,62}$/;
const enumValue = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;
const typeName = /^[A-Z][A-Za-z0-9]{0,62}$/;
/** The highest number of the top-level fields of every object. */
const baseNumberMax = 4;

const ranges = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  double: [-Number.MAX_VALUE, Number.MAX_VALUE],
} as const;

function fail(path: string, problem: string): never {
  throw new TypeError(`${path}: ${problem}`);
}

function checkNumber(
  path: string,
  shape: Shape & { type: keyof typeof ranges },
  field: AnyField,
): void {
  const [low, high] = ranges[shape.type];
  const { minimum = low, maximum = high, default: fallback } = field.options;
  if (!(minimum >= low && maximum <= high && minimum <= maximum))
    fail(
      path,
      `the range from ${minimum} to ${maximum} must ascend and lie within ${low} to ${high}`,
    );
  if (fallback !== undefined) {
    const whole = shape.type === 'double' || Number.isInteger(fallback);
    const inside = typeof fallback === 'number' && fallback >= minimum && fallback <= maximum;
    if (!whole || !inside)
      fail(path, `the default ${JSON.stringify(fallback)} is not in its range`);
  } else if (field.presence === 'filled' && (minimum > 0 || maximum < 0))
    fail(
      path,
      `its default would be 0, which its range excludes; make it required, give a default, or wrap it in optional()`,
    );
}

function checkString(path: string, { options }: AnyField): void {
  const { pattern, maxLength, default: fallback } = options;
  if (maxLength !== undefined && !(Number.isInteger(maxLength) && maxLength > 0))
    fail(path, `maxLength ${maxLength} is not a number of characters above 0`);
  if (pattern !== undefined) {
    if (maxLength === undefined) fail(path, 'a pattern needs maxLength, which bounds its time');
    const problem = patternProblem(pattern, maxLength);
    if (problem !== undefined) fail(path, `pattern ${pattern}: ${problem}`);
  }
  if (fallback === undefined) return;
  const fits =
    typeof fallback === 'string' &&
    fallback.length <= (maxLength ?? Infinity) &&
    (pattern === undefined || new RegExp(pattern, 'u').test(fallback));
  if (!fits) fail(path, `the default ${JSON.stringify(fallback)} is not allowed by its own rules`);
}

/** The protobuf numbers of the values of an enumeration, by value. */
export function enumNumbers({
  values,
  numbers,
}: Shape & { type: 'enum' }): ReadonlyMap<string, number> {
  const given = new Map(Object.entries(numbers));
  return new Map(values.map((value) => [value, given.get(value) ?? numberFromName(value)]));
}

function checkEnum(
  path: string,
  shape: Shape & { type: 'enum' },
  { options }: AnyField,
  limits: DeclarationLimits,
): void {
  const { values } = shape;
  if (values.length === 0 || values.length > limits.declaredEnumValuesMax)
    fail(
      path,
      `an enumeration has 1 to ${limits.declaredEnumValuesMax} values, not ${values.length}`,
    );
  for (const value of values)
    if (!enumValue.test(value))
      fail(
        path,
        `"${value}" is not a valid enumeration value; use letters, digits and _, starting with a letter`,
      );
  const numbers = [...enumNumbers(shape)];
  for (const [at, [value, number]] of numbers.entries()) {
    if (!Number.isInteger(number) || number < 1 || number >= 2 ** 31)
      fail(path, `value ${value} has number ${number}; use 1 and above`);
    const twin = numbers.findIndex(([, other]) => other === number);
    if (twin !== at)
      fail(
        path,
        `values ${numbers[twin]?.[0]} and ${value} both have number ${number}; give the values numbers`,
      );
  }
  if (values.some((value, at) => values.indexOf(value) !== at))
    fail(path, 'a value is listed twice');
  const fallback = options.default;
  if (fallback !== undefined && !values.some((value) => value === fallback))
    fail(path, `the default ${JSON.stringify(fallback)} must be one of ${values.join(', ')}`);
}

/** The elements of lists and maps, in messages. */
const itemOf = { list: 'a list item', map: 'a map value' } as const;

function checkItem(path: string, item: AnyField, holder: 'list' | 'map'): void {
  const { type } = item.shape;
  const inner = itemOf[holder];
  if (type === 'list' || type === 'map')
    fail(path, `a ${type} can't be ${inner}; use an object with a field of this type`);
  for (const option of ['required', 'immutable', 'default', 'number'] as const)
    if (item.options[option] !== undefined)
      fail(path, `"${option}" has no meaning for ${inner}; remove it`);
}

/** The protobuf number of a field. */
export function fieldNumber(name: string, { options }: AnyField): number {
  return options.number ?? numberFromName(name);
}

class Checker {
  readonly #limits: DeclarationLimits;
  #count = 0;

  constructor(limits: DeclarationLimits) {
    this.#limits = limits;
  }

  object(path: string, fields: Fields, depth: number): void {
    const { declaredDepthMax, declaredFieldsMax } = this.#limits;
    if (depth > declaredDepthMax)
      fail(path, `nested deeper than ${declaredDepthMax} levels; a kind can't contain itself`);
    const numbers = new Map<number, string>();
    for (const [name, field] of Object.entries(fields)) {
      const at = `${path}.${name}`;
      this.#count += 1;
      if (this.#count > declaredFieldsMax) fail(at, `more than ${declaredFieldsMax} fields`);
      if (!fieldName.test(name) || name in Object.prototype)
        fail(
          at,
          'use a name in camelCase of at most 63 letters and digits that is not a property of all JavaScript objects',
        );
      const number = fieldNumber(name, field);
      if (!isFieldNumber(number) || (depth === 1 && number <= baseNumberMax))
        fail(
          at,
          `number ${number} is reserved or out of range; use one from ${baseNumberMax + 1} to 18999 or 20000 to 536870911`,
        );
      const twin = numbers.get(number);
      if (twin !== undefined)
        fail(
          at,
          `has the same protobuf number as ${twin} (${number}); set another one with the option "number"`,
        );
      numbers.set(number, name);
      this.field(at, field, depth);
    }
  }

  field(path: string, field: AnyField, depth: number): void {
    const { shape, options } = field;
    if ('name' in shape && shape.name !== undefined && !typeName.test(shape.name))
      fail(path, `"${shape.name}" is not a valid message name; use PascalCase`);
    const { maxItems } = options;
    if (maxItems !== undefined && !(Number.isInteger(maxItems) && maxItems > 0))
      fail(path, `maxItems ${maxItems} is not a number above 0`);
    switch (shape.type) {
      case 'string':
        return checkString(path, field);
      case 'int32':
      case 'int64':
      case 'double':
        return checkNumber(path, { type: shape.type }, field);
      case 'enum':
        return checkEnum(path, shape, field, this.#limits);
      case 'object':
        return this.object(path, shape.fields, depth + 1);
      case 'list':
      case 'map':
        checkItem(`${path}[]`, shape.of, shape.type);
        if (immutablePaths({ item: shape.of }).length > 0)
          fail(
            path,
            `a field of ${itemOf[shape.type]} can't be immutable, because ${itemOf[shape.type]} has no identity; make the ${shape.type} immutable`,
          );
        return this.field(`${path}[]`, shape.of, depth);
      case 'boolean':
      case 'json':
        return;
    }
  }
}

/** Checks the declared fields of a kind. @throws TypeError that names the first invalid field, with the remedy. */
export function checkFields(kind: string, fields: Fields, limits: DeclarationLimits): void {
  new Checker(limits).object(kind, fields, 1);
}

/** Dotted paths of the immutable fields, including those of nested objects. */
export function immutablePaths(fields: Fields): readonly string[] {
  return Object.entries(fields).flatMap(([name, { shape, options }]) => {
    if (options.immutable) return [name];
    return shape.type === 'object'
      ? immutablePaths(shape.fields).map((inner) => `${name}.${inner}`)
      : [];
  });
}
