import type { DescMessage, JsonObject, MethodInfo, SchemaRegistry } from '../../rpc/index.js';
import { varint } from '../transport/list-encoding.js';
import { RecentCache } from '../objects/recent-cache.js';

/** Maximum number of cached encoded answers: an event for many watchers is encoded once. */
const keptMax = 1_024;
/** Maximum bytes of all cached answers; enough for the largest object. */
const keptBytesMax = 33_554_432;

interface WatchEvent {
  readonly type: string;
  readonly object: JsonObject;
}

interface WatchShape {
  readonly events: number;
  readonly resourceVersion: number;
  readonly type: number;
  readonly object: number;
  readonly message: DescMessage;
  readonly types: ReadonlyMap<string, number>;
}

function numberOf(message: DescMessage, name: string): number {
  const field = message.fields.find((f) => f.jsonName === name);
  if (!field) throw new TypeError(`${message.typeName} has no field ${name}`);
  return field.number;
}

function shapeOf(output: DescMessage): WatchShape {
  const field = output.fields.find((f) => f.jsonName === 'events');
  if (field?.fieldKind !== 'list' || field.listKind !== 'message')
    throw new TypeError(`${output.typeName} has no events`);
  const event = field.message;
  const object = event.fields.find((f) => f.jsonName === 'object');
  const type = event.fields.find((f) => f.jsonName === 'type');
  if (object?.fieldKind !== 'message' || type?.fieldKind !== 'enum')
    throw new TypeError(`${event.typeName} is not an event`);
  return {
    events: field.number,
    resourceVersion: numberOf(output, 'resourceVersion'),
    type: type.number,
    object: object.number,
    message: object.message,
    types: new Map(type.enum.values.map(({ name, number }) => [name, number])),
  };
}

const lengthDelimited = 2;

function framed(field: number, bytes: Uint8Array): Uint8Array[] {
  return [
    Uint8Array.from([...varint(field * 8 + lengthDelimited), ...varint(bytes.length)]),
    bytes,
  ];
}

/** Encodes answers; objects for many watchers are encoded once. */
export class AnswerEncoder {
  readonly #schemas: SchemaRegistry;
  readonly #kept = new RecentCache<JsonObject, Uint8Array>(keptMax, {
    of: ({ length }) => length,
    max: keptBytesMax,
  });
  readonly #shapes = new Map<DescMessage, WatchShape>();

  constructor(schemas: SchemaRegistry) {
    this.#schemas = schemas;
  }

  /**
   * Encodes an answer of a method.
   * @param mayKeep false for answers that must not stay in memory, such as revealed secrets
   */
  encode(method: MethodInfo, answer: JsonObject, mayKeep = true): Buffer {
    const verb = method.standard?.verb;
    if (verb === 'Watch') return this.#watch(method.output, answer);
    const bytes =
      verb === 'Get' && mayKeep
        ? this.#object(method.output, answer)
        : this.#schemas.encode(method.output, answer);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #object(message: DescMessage, object: JsonObject): Uint8Array {
    return this.#kept.of(object, () => this.#schemas.encode(message, object));
  }

  /** Assembles a watch answer by its schema from encoded objects. */
  #watch(output: DescMessage, answer: JsonObject): Buffer {
    let shape = this.#shapes.get(output);
    if (!shape) this.#shapes.set(output, (shape = shapeOf(output)));
    const { events = [], resourceVersion = '' } = answer as {
      readonly events?: readonly WatchEvent[];
      readonly resourceVersion?: string;
    };
    const parts: Uint8Array[] = [];
    for (const { type, object } of events) {
      const [head, body] = framed(shape.object, this.#object(shape.message, object));
      const kind = Uint8Array.from([shape.type * 8, shape.types.get(type) ?? 0]);
      if (!head || !body) continue;
      const length = kind.length + head.length + body.length;
      const tag = varint(shape.events * 8 + lengthDelimited);
      parts.push(Uint8Array.from([...tag, ...varint(length)]), kind, head, body);
    }
    if (resourceVersion !== '')
      parts.push(...framed(shape.resourceVersion, Buffer.from(resourceVersion)));
    return Buffer.concat(parts);
  }
}
