import type { DescMessage } from '../../rpc/index.js';
import { enumNames, type JsonSchema, type MessageSchema } from './json-schema.js';

interface EventParts {
  /** Names of the event; absent for events without one. */
  readonly names?: readonly string[];
  readonly description: string;
  readonly data: JsonSchema;
  /** Whether the event has a cursor for a resume; absent: it may. */
  readonly id?: 'always' | 'never';
}

function eventSchema({ names, description, data, id }: EventParts): JsonSchema {
  return {
    type: 'object',
    description,
    properties: {
      ...(names ? { event: { type: 'string', enum: names } } : {}),
      ...(id === 'never' ? {} : { id: { type: 'string' } }),
      data: { type: 'string', contentMediaType: 'application/json', contentSchema: data },
    },
    required: ['data', ...(names ? ['event'] : []), ...(id === 'always' ? ['id'] : [])],
    additionalProperties: false,
  };
}

const failure = eventSchema({
  names: ['ERROR'],
  description: 'The failure that ends the stream.',
  data: { $ref: '#/components/schemas/Error' },
  id: 'never',
});

const bookmark = eventSchema({
  names: ['BOOKMARK'],
  description: 'No change up to this revision; the first bookmark ends the initial objects.',
  data: {
    type: 'object',
    properties: { type: { const: 'BOOKMARK' }, resourceVersion: { type: 'string' } },
    required: ['type', 'resourceVersion'],
    additionalProperties: false,
  },
  id: 'always',
});

function sequence(description: string, items: JsonSchema): JsonSchema {
  return { type: 'array', description, items };
}

/** The schema of the events of a watch whose gRPC messages are `output`. @throws TypeError if they have no events */
export function watchStream(output: DescMessage, reference: MessageSchema): JsonSchema {
  const field = output.fields.find(({ jsonName }) => jsonName === 'events');
  const change = field?.message;
  if (!change) throw new TypeError(`${output.typeName} has no message field "events"`);
  const type = change.fields.find(({ jsonName }) => jsonName === 'type')?.enum;
  const changed = eventSchema({
    names: type ? enumNames(type) : [],
    description: 'A change. Its id is the cursor at which a client resumes (Last-Event-ID).',
    data: reference(change),
  });
  return sequence('Server-sent events with their fields.', {
    anyOf: [changed, bookmark, failure],
  });
}

/** The schema of the events of any other stream whose gRPC messages are `output`. */
export function messageStream(output: DescMessage, reference: MessageSchema): JsonSchema {
  const message = eventSchema({ description: 'The next message.', data: reference(output) });
  return sequence('Server-sent events with their fields.', { anyOf: [message, failure] });
}

/** The schema of a stream of `output` messages, one JSON document per line. */
export function lineStream(output: DescMessage, reference: MessageSchema): JsonSchema {
  return sequence('One JSON document per line.', reference(output));
}
