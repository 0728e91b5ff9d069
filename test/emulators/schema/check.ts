import type { CallSchema, RequestSchema, Row, Rule } from './row.js';

/** A request to check. Names of headers are in lower case, and the body is not parsed. */
export interface CheckedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Json = Readonly<Record<string, unknown>>;

/** Returns the deviations of a request from the provider's definition; empty if there are none. */
export function checkRequest(schema: RequestSchema, request: CheckedRequest): readonly string[] {
  const call = schema.calls.find(
    ({ method, path }) => method === request.method && segments(path, request.path) !== undefined,
  );
  if (!call) return ['the definition has no such call'];
  return [
    ...headerProblems(schema, request),
    ...pathProblems(call, request),
    ...queryProblems(call, request),
    ...bodyProblems(call, request),
  ];
}

/** Returns the values of a pattern's named segments in a path; undefined if the path does not match. */
function segments(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const found: Record<string, string> = {};
  for (const [n, part] of wanted.entries()) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    const value = given[n] ?? '';
    if (name === undefined ? part !== value : value === '') return undefined;
    if (name !== undefined) found[name] = value;
  }
  return found;
}

function headerProblems(schema: RequestSchema, request: CheckedRequest): readonly string[] {
  return schema.headers.flatMap(({ header, pattern, when }) => {
    if (when === 'with a body' && request.body === '') return [];
    const value = request.headers[header];
    // Problems do not contain the value, because it may be a credential.
    if (value === undefined) return [`header ${header} is missing`];
    return pattern.test(value) ? [] : [`header ${header} has the wrong form`];
  });
}

function pathProblems(call: CallSchema, request: CheckedRequest): readonly string[] {
  const given = segments(call.path, request.path) ?? {};
  const rows = call.rows.filter((row) => row.in === 'path');
  return rows.flatMap((row) => problems(row, fromText(row.rule, given[row.field])));
}

function queryProblems(call: CallSchema, request: CheckedRequest): readonly string[] {
  const rows = call.rows.filter((row) => row.in === 'query');
  const unknown = request.query
    .map(([name]) => name)
    .filter((name) => !rows.some(({ field }) => field === name));
  return [
    ...unknown.map((name) => `query ${name} is not defined`),
    ...rows.flatMap((row) => {
      const given = request.query.filter(([name]) => name === row.field).map(([, text]) => text);
      if (given.length === 0) return row.required ? [`query ${row.field} is missing`] : [];
      if (given.length > 1 && !row.several) return [`query ${row.field} is given several times`];
      return given.flatMap((text) => problems(row, fromText(row.rule, text)));
    }),
  ];
}

function bodyProblems(call: CallSchema, request: CheckedRequest): readonly string[] {
  const own = call.rows.filter((row) => row.in === 'body');
  if (own.length === 0 && !call.variants)
    return request.body === '' || request.body === call.emptyBody
      ? []
      : ['the call has no body, and one was sent'];
  const body = objectOf(request.body);
  if (!body) return ['the body is not a JSON object'];
  const rows = [...own, ...variantRows(call, body)];
  const unknown = Object.keys(body).filter((name) => !rows.some(({ field }) => field === name));
  return [
    ...(call.variants && rows.length === own.length
      ? [`body ${call.variants.by} is none of ${Object.keys(call.variants.rows).join(', ')}`]
      : []),
    ...unknown.map((name) => `body ${name} is not defined`),
    ...rows.flatMap((row) => {
      const value = body[row.field];
      if (value === undefined) return row.required ? [`body ${row.field} is missing`] : [];
      if (value === null && row.nullable) return [];
      return problems(row, value);
    }),
  ];
}

function variantRows({ variants }: CallSchema, body: Json): readonly Row[] {
  if (!variants) return [];
  const kind = body[variants.by];
  return typeof kind === 'string' ? (variants.rows[kind] ?? []) : [];
}

function objectOf(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Json) : undefined;
  } catch {
    // The caller reports the problem.
    return undefined;
  }
}

/** Converts a decimal text of a path or query to a number if the rule needs one. Returns other texts unchanged. */
function fromText(rule: Rule, text: string | undefined): unknown {
  const isNumber = rule.type === 'whole' || rule.type === 'number';
  return isNumber && text !== undefined && /^\d+$/.test(text) ? Number(text) : text;
}

function problems(row: Row, value: unknown): readonly string[] {
  const why = complaint(row.rule, value);
  return why === undefined ? [] : [`${row.in} ${row.field} ${JSON.stringify(value)} ${why}`];
}

function complaint(rule: Rule, value: unknown): string | undefined {
  switch (rule.type) {
    case 'text': {
      if (typeof value !== 'string') return 'is no text';
      if (rule.oneOf && !rule.oneOf.includes(value)) return `is none of ${rule.oneOf.join(', ')}`;
      if (rule.pattern && !rule.pattern.test(value)) return `does not match ${rule.pattern.source}`;
      const tooLong = rule.lengthMax !== undefined && value.length > rule.lengthMax;
      return tooLong ? `is longer than ${rule.lengthMax}` : undefined;
    }
    case 'whole':
    case 'number': {
      if (typeof value !== 'number') return 'is no number';
      if (rule.type === 'whole' && !Number.isSafeInteger(value)) return 'is no whole number';
      if (rule.min !== undefined && value < rule.min) return `is less than ${rule.min}`;
      return rule.max !== undefined && value > rule.max ? `is more than ${rule.max}` : undefined;
    }
    case 'truth':
      return typeof value === 'boolean' ? undefined : 'is neither true nor false';
    case 'texts': {
      const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
      return isList ? undefined : 'is no list of texts';
    }
    case 'labels': {
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        return 'is no object';
      const wrong = Object.entries(value).find(
        ([, text]) => typeof text !== 'string' || !rule.pattern.test(text),
      );
      return wrong ? `has the value ${JSON.stringify(wrong[1])} for ${wrong[0]}` : undefined;
    }
  }
}
