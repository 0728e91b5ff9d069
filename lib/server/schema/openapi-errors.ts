import { statusCodes } from '../../base/index.js';
import { statusName } from './error-body.js';
import type { JsonSchema } from './json-schema.js';

const detail = (name: string, properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties: { '@type': { const: `type.googleapis.com/google.rpc.${name}` }, ...properties },
  required: ['@type', ...Object.keys(properties)],
  additionalProperties: false,
});

const violation: JsonSchema = {
  type: 'object',
  properties: {
    field: { type: 'string', description: 'Path of the field in the request' },
    description: { type: 'string', description: 'The violation and its remedy' },
  },
  required: ['field', 'description'],
  additionalProperties: false,
};

const detailSchema: JsonSchema = {
  description: 'A part of a refusal for programs.',
  oneOf: [
    detail('BadRequest', { fieldViolations: { type: 'array', items: violation, minItems: 1 } }),
    detail('ResourceInfo', { resourceType: { type: 'string' }, resourceName: { type: 'string' } }),
    detail('RetryInfo', {
      retryDelay: { type: 'string', description: 'The time until a retry', examples: ['1.5s'] },
    }),
  ],
};

/** The fields of both forms of a refusal. */
const shared: Readonly<Record<string, JsonSchema>> = {
  code: { type: 'integer', description: 'gRPC status code', minimum: 1 },
  reason: { type: 'string', description: 'Machine-readable, stable' },
  details: { type: 'array', items: { $ref: '#/components/schemas/ErrorDetail' } },
  requestId: { type: 'string', description: 'The id of the request in the log of the server' },
};

const whole = (description: string, properties: Readonly<Record<string, JsonSchema>>) => ({
  type: 'object',
  description,
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

/** The error schemas of every document, by name. */
export const errorSchemas = {
  Error: whole('A refusal, with a reason for programs and a message with the remedy.', {
    ...shared,
    status: {
      type: 'string',
      description: 'Name of the code',
      enum: Object.keys(statusCodes)
        .filter((name) => name !== 'OK')
        .map(statusName),
    },
    message: { type: 'string' },
  }),
  Problem: whole(
    'A refusal in the form of RFC 9457, for clients that accept application/problem+json.',
    {
      ...shared,
      type: { const: 'about:blank' },
      title: { type: 'string', description: 'The reason' },
      status: { type: 'integer', description: 'HTTP status', minimum: 400, maximum: 599 },
      detail: { type: 'string', description: 'The problem and its remedy' },
      instance: { type: 'string', description: 'The id of the request', pattern: '^urn:uuid:' },
    },
  ),
  ErrorDetail: detailSchema,
} as const satisfies Readonly<Record<string, JsonSchema>>;

/** The answer of an operation that is refused. */
export const refusal: JsonSchema = {
  description: 'A refusal',
  content: {
    'application/json': { schema: { $ref: '#/components/schemas/Error' } },
    'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
  },
};
