/** A received HTTP request. */
export interface WireRequest {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  /** Headers by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The unparsed body; empty if there is none. */
  readonly body: string;
}

/** An HTTP answer, before a fault is applied. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Returns an answer with a value as its JSON body, or without a body if the value is undefined. */
export function jsonReply(
  status: number,
  value?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  if (value === undefined) return { status, headers, body: '' };
  const type = { 'content-type': 'application/json; charset=utf-8' };
  return { status, headers: { ...type, ...headers }, body: JSON.stringify(value) };
}

/** Returns the value of a query parameter: the last one of several, undefined if there is none. */
export function queryValue({ query }: WireRequest, name: string): string | undefined {
  return query.findLast(([key]) => key === name)?.[1];
}

/** Returns the body as a JSON object; undefined if it is not one. */
export function bodyObject({ body }: WireRequest): Readonly<Record<string, unknown>> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // The caller answers with its provider's error.
    return undefined;
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

/** Returns the value of `Action` in a body with a form; undefined for other bodies. */
export function actionOf({ headers, body }: WireRequest): string | undefined {
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false;
  return isForm ? (new URLSearchParams(body).get('Action') ?? undefined) : undefined;
}

/** Returns the secret of an `Authorization: Bearer` header; undefined without such a header. */
export function bearerOf({ headers }: WireRequest): string | undefined {
  return /^Bearer (\S+)$/.exec(headers['authorization'] ?? '')?.[1];
}

/** Returns the segments of a path at the stars of a pattern, in order; undefined if the path does not match. */
export function pathParts(pattern: string, path: string): readonly string[] | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const fits = wanted.every((part, n) => (part === '*' ? given[n] !== '' : part === given[n]));
  return fits ? given.filter((_, n) => wanted[n] === '*') : undefined;
}
