/** A request as it came over the wire. */
export interface WireRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The text of the body; empty without one. */
  readonly body: string;
}

/** An answer before faults. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An answer with a JSON body; without a value it has no body. */
export function jsonReply(
  status: number,
  value?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  if (value === undefined) return { status, headers, body: '' };
  const type = { 'content-type': 'application/json; charset=utf-8' };
  return { status, headers: { ...type, ...headers }, body: JSON.stringify(value) };
}

/** The value of a query parameter that is given once; the last one of several. */
export function queryValue({ query }: WireRequest, name: string): string | undefined {
  return query.findLast(([key]) => key === name)?.[1];
}

/** A body that is a JSON object; undefined for anything else. */
export function bodyObject({ body }: WireRequest): Readonly<Record<string, unknown>> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // The caller answers as its provider does.
    return undefined;
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

/** The secret of an `Authorization: Bearer` header. */
export function bearerOf({ headers }: WireRequest): string | undefined {
  return /^Bearer (\S+)$/.exec(headers['authorization'] ?? '')?.[1];
}

/**
 * The parts of a path that stand for `*` in a pattern; undefined if it does not fit. A star is one segment.
 */
export function pathParts(pattern: string, path: string): readonly string[] | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const fits = wanted.every((part, n) => (part === '*' ? given[n] !== '' : part === given[n]));
  return fits ? given.filter((_, n) => wanted[n] === '*') : undefined;
}
