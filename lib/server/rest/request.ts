import { type FieldViolation, invalid } from '../../base/index.js';
import type { DescField, DescMessage, JsonObject } from '../../rpc/index.js';
import { malformedBody } from '../schema/body-scan.js';
import { jsonType } from '../schema/json-schema.js';
import type { MethodInfo } from '../../rpc/index.js';

/** The parts of an HTTP request that form a message. */
export interface HttpParts {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  readonly body: unknown;
}

function fieldNamed(message: DescMessage, name: string): DescField | undefined {
  return message.fields.find((field) => field.name === name || field.jsonName === name);
}

function scalarFromText(field: DescField, text: string): unknown {
  if (field.fieldKind !== 'scalar') return undefined;
  switch (jsonType(field)) {
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined;
    case 'string':
      return text;
    case 'number':
      return /^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : undefined;
    case 'integer':
      return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
  }
}

/** The rule that a malformed query parameter breaks. */
function valueRule(
  field: Extract<DescField, { fieldKind: 'scalar' }>,
  value: string | readonly string[],
): string {
  if (typeof value !== 'string') return 'is given more than once; give it once';
  const type = jsonType(field);
  const rule =
    type === 'boolean' ? 'true or false' : type === 'integer' ? 'a whole number' : 'a number';
  return `${JSON.stringify(value)} must be ${rule}`;
}

/**
 * Converts an HTTP call to a request message by the rules of google.api.http: path parameters, the body as one field or
 * the whole message, everything else from the query.
 * @throws StatusError InvalidArgument that names each unknown or malformed query parameter, each unknown field of a
 * body that is the whole message, or a field that differs from the path; MalformedBody for a body that is not an
 * object.
 */
export function requestFromHttp(method: MethodInfo, parts: HttpParts): JsonObject {
  const { input, route } = method;
  const request: Record<string, unknown> = {};
  const violations: FieldViolation[] = [];
  if (route?.body === '*') Object.assign(request, bodyObject(parts.body));
  else if (route?.body) {
    const field = fieldNamed(input, route.body);
    if (field) request[field.jsonName] = bodyObject(parts.body);
  }
  for (const [name, value] of Object.entries(parts.query)) {
    const field = fieldNamed(input, name);
    const parsed = field && typeof value === 'string' ? scalarFromText(field, value) : undefined;
    if (!field || route?.body === '*' || field.fieldKind !== 'scalar')
      violations.push({
        field: name,
        description: 'is not a query parameter of this path; omit it',
      });
    else if (parsed === undefined)
      violations.push({ field: name, description: valueRule(field, value) });
    else request[field.jsonName] = parsed;
  }
  if (route?.body === '*') {
    const known = new Set(input.fields.map((field) => field.jsonName));
    for (const name of Object.keys(request))
      if (!known.has(name))
        violations.push({ field: name, description: 'is not a field of this request; omit it' });
  }
  if (violations.length > 0) throw invalid(violations);
  for (const [name, value] of Object.entries(parts.params)) {
    const field = fieldNamed(input, name);
    if (!field) continue;
    const given = request[field.jsonName];
    if (given !== undefined && given !== '' && given !== value)
      throw invalid([
        {
          field: field.jsonName,
          description: `${JSON.stringify(given)} differs from ${JSON.stringify(value)} in the path; make them equal or omit it`,
        },
      ]);
    request[field.jsonName] = value;
  }
  return request;
}

function bodyObject(body: unknown): JsonObject {
  if (body === undefined || body === null) return {};
  if (typeof body === 'object' && !Array.isArray(body)) return body as JsonObject;
  throw malformedBody('the body must be a JSON object');
}
