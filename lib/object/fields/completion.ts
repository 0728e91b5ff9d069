import { deepFreeze } from './equality.js';
import type { AnyField, Fields } from './field.js';

type Values = Readonly<Record<string, unknown>>;
/** Returns the value with the defaults of its fields; the same instance if nothing was missing. */
type Complete = (value: unknown) => unknown;

interface Step {
  readonly name: string;
  /** The value for an absent field; undefined if it stays absent. */
  readonly fill: unknown;
  readonly inner: Complete | undefined;
}

const noItems: readonly unknown[] = Object.freeze([]);
const noEntries: Values = Object.freeze({});

/** Converts -0 to 0: JSON has one zero, so -0 would become 0 when the store is reopened. */
function withoutNegativeZero(value: unknown): unknown {
  return Object.is(value, -0) ? 0 : value;
}

function mapped(values: readonly unknown[], inner: Complete): readonly unknown[] {
  const items = values.map(inner);
  return items.some((item, at) => !Object.is(item, values[at])) ? items : values;
}

function mappedEntries(values: Values, inner: Complete): Values {
  const entries = Object.entries(values);
  const items = entries.map(([key, item]) => [key, inner(item)] as const);
  const changed = items.some(([, item], at) => !Object.is(item, entries[at]?.[1]));
  return changed ? Object.fromEntries(items) : values;
}

/** Completes free JSON, in which -0 becomes 0. Its depth is limited where clients write it. */
function completeJson(value: unknown): unknown {
  if (Array.isArray(value)) return mapped(value, completeJson);
  return isRecord(value) ? mappedEntries(value, completeJson) : withoutNegativeZero(value);
}

function isRecord(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fillOf({ shape, options, presence }: AnyField): unknown {
  if (options.default !== undefined) return deepFreeze(structuredClone(options.default));
  if (presence === 'optional') return undefined;
  switch (shape.type) {
    case 'string':
      return presence === 'required' ? undefined : '';
    case 'boolean':
      return presence === 'required' ? undefined : false;
    case 'int32':
    case 'int64':
    case 'double':
      return presence === 'required' ? undefined : 0;
    case 'list':
      return noItems;
    case 'map':
      return noEntries;
    case 'object':
      return presence === 'required' ? undefined : deepFreeze(completeObject(shape.fields)({}));
    case 'enum':
    case 'json':
      return undefined;
  }
}

function innerOf({ shape }: AnyField): Complete | undefined {
  switch (shape.type) {
    case 'object': {
      const complete = completeObject(shape.fields);
      return (value) => (isRecord(value) ? complete(value) : value);
    }
    case 'list': {
      const inner = innerOf(shape.of);
      if (!inner) return undefined;
      return (value) => (Array.isArray(value) ? mapped(value, inner) : value);
    }
    case 'map': {
      const inner = innerOf(shape.of);
      if (!inner) return undefined;
      return (value) => (isRecord(value) ? mappedEntries(value, inner) : value);
    }
    case 'int32':
    case 'int64':
    case 'double':
      return withoutNegativeZero;
    case 'json':
      return completeJson;
    default:
      return undefined;
  }
}

function completeObject(fields: Fields): (values: Values) => Values {
  const steps = Object.entries(fields).map(
    ([name, field]): Step => ({ name, fill: fillOf(field), inner: innerOf(field) }),
  );
  return (values) => {
    let out: Record<string, unknown> | undefined;
    for (const { name, fill, inner } of steps) {
      const given = values[name];
      const absent = given === undefined || given === null;
      const next = absent ? fill : inner ? inner(given) : given;
      if (Object.is(next, given)) continue;
      out ??= { ...values };
      if (next === undefined) delete out[name];
      else out[name] = next;
    }
    return out ?? values;
  };
}

/** The completion of objects of a declared kind; a number -0 becomes 0. */
export interface Completion {
  /** Fills in absent fields that clients write, with their default or zero value. */
  completeSpec(values: Values): Values;
  /** Like {@link completeSpec}, for status fields. */
  completeStatus(values: Values): Values;
  /** Completes the status fields that `values` has; absent ones stay absent. */
  completeGiven(values: Values): Values;
}

/** Compiles the completion of a kind, once. A write then visits the fields and copies only if something is missing. */
export function completion(fields: Fields, status: Fields): Completion {
  const one = new Map(
    Object.entries(status).map(([name, field]) => [name, completeObject({ [name]: field })]),
  );
  return {
    completeSpec: completeObject(fields),
    completeStatus: completeObject(status),
    completeGiven: (values) => {
      let out = values;
      for (const [name, complete] of one) if (name in values) out = complete(out);
      return out;
    },
  };
}
