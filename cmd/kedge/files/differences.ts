import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from 'kedge/rpc';

/** The server's mask of a hidden value. */
export const mask = '********';

/** A value that differs; absent on one side if it was added or removed. */
export interface Difference {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** The value of a key; keys of the data may be names of inherited members, such as `constructor`. */
function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/**
 * Returns the differences of two values. Objects are compared by key, and arrays of equal length by item. Anything else
 * is one difference, such as an added object or arrays of different length.
 */
export function differences(before: unknown, after: unknown, path = ''): readonly Difference[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (isJsonObject(before) && isJsonObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) =>
      differences(own(before, key), own(after, key), path === '' ? key : `${path}.${key}`),
    );
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((item, at) => differences(item, after[at], `${path}[${at}]`));
  return [
    {
      path,
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
    },
  ];
}

/** The value at a dotted path; undefined if there is none. */
export function valueAt(object: JsonObject, path: string): unknown {
  let at: unknown = object;
  for (const part of path.split(/[.[\]]+/).filter((word) => word !== ''))
    at = Array.isArray(at) ? at[Number(part)] : isJsonObject(at) ? own(at, part) : undefined;
  return at;
}

/** A value with each text, number and boolean in it replaced by the mask. */
export function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, masked(inner)]));
  return value === undefined || value === null ? value : mask;
}
