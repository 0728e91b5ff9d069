import {
  type DescField,
  type DescMessage,
  fieldRules,
  type JsonObject,
  type MethodInfo,
  type SchemaRegistry,
} from '../../rpc/index.js';
import { formats } from './formats.js';
import { httpStatuses } from './http-status.js';
import { fieldSchema, jsonSchema, type JsonSchema, type MessageSchema } from './json-schema.js';
import { errorSchemas, refusal } from './openapi-errors.js';
import { lineStream, messageStream, watchStream } from './openapi-streams.js';
import { summaryOf } from './openapi-summary.js';

/** The path of the OpenAPI document. */
export const openApiPath = '/v1/openapi.json';

/** The comments of methods, messages, fields and enum values, by full name. */
export type Comments = Readonly<Record<string, string>>;

const bearer = [{ bearer: [] }];
const json = 'application/json';
const eventStream = 'text/event-stream';
const jsonLines = 'application/x-ndjson';

/** Writes the document. Each schema is created once, at the first reference. */
class DocumentWriter {
  readonly #schemas: SchemaRegistry;
  readonly #comments: Comments;
  readonly components: Record<string, JsonSchema> = { ...errorSchemas };

  constructor(schemas: SchemaRegistry, comments: Comments) {
    this.#schemas = schemas;
    this.#comments = comments;
  }

  #described(name: string): { readonly description?: string } {
    const text = this.#comments[name];
    return text === undefined ? {} : { description: text };
  }

  reference(message: DescMessage): JsonSchema {
    const anyJson = jsonSchema(message);
    if (anyJson) return anyJson;
    const short = message.typeName.replace(/^[a-z]\w*\./, '');
    const name = short in errorSchemas ? message.typeName : short;
    if (!(name in this.components)) {
      // Set before its fields are visited, because a message may contain itself.
      this.components[name] = {};
      this.components[name] = this.#object(message, message.fields);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  readonly #refer: MessageSchema = (message) => this.reference(message);

  #object(message: DescMessage, fields: readonly DescField[]): JsonSchema {
    const properties: Record<string, JsonSchema> = {};
    const required: string[] = [];
    for (const field of fields) {
      const rules = fieldRules(this.#schemas.registry, field);
      properties[field.jsonName] = {
        ...this.#field(field),
        ...this.#described(`${field.parent.typeName}.${field.name}`),
        ...(rules.outputOnly ? { readOnly: true } : {}),
      };
      if (rules.required) required.push(field.jsonName);
    }
    return {
      type: 'object',
      ...this.#described(message.typeName),
      properties,
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
    };
  }

  #field(field: DescField): JsonSchema {
    const rules = fieldRules(this.#schemas.registry, field);
    const schema = fieldSchema(field, rules, this.#refer);
    const type = formats[rules.format]?.numberToo ? { type: ['string', 'integer'] } : {};
    const fallback =
      rules.defaultJson === undefined ? {} : { default: JSON.parse(rules.defaultJson) as unknown };
    return { ...schema, ...type, ...fallback };
  }

  /**
   * Describes the operation of a method that has a route.
   * @param watch the method whose events a list answers with if `watch` is set
   */
  operation(method: MethodInfo, watch: MethodInfo | undefined): JsonObject {
    const { input, route } = method;
    const inPath = new Set([...(route?.path ?? '').matchAll(/\{(\w+)\}/g)].map((m) => m[1]));
    const isBody = (field: DescField): boolean =>
      route?.body === '*' ? !inPath.has(field.name) : field.name === route?.body;
    const parameters = input.fields.flatMap((field): JsonObject[] => {
      const at = inPath.has(field.name) ? 'path' : 'query';
      if (isBody(field) || (at === 'query' && field.fieldKind !== 'scalar')) return [];
      const required = at === 'path' || fieldRules(this.#schemas.registry, field).required;
      return [
        {
          name: field.jsonName,
          in: at,
          required,
          schema: this.#field(field),
          ...this.#described(`${input.typeName}.${field.name}`),
        },
      ];
    });
    if (watch)
      parameters.push(
        {
          name: 'watch',
          in: 'query',
          required: false,
          schema: { type: 'boolean' },
          description: 'Answer with events instead: the existing objects, then every change.',
        },
        {
          name: 'resourceVersion',
          in: 'query',
          required: false,
          schema: { type: 'string' },
          description:
            'With watch: the cursor to continue after, from the resourceVersion of a list or watch message; empty starts with the existing objects.',
        },
      );
    const fullName = method.grpcPath.slice(1).replace('/', '.');
    return {
      operationId: method.id.replace('.', '_'),
      tags: [method.id.split('.')[0] ?? ''],
      summary: summaryOf(method, this.#comments[fullName]),
      ...this.#described(fullName),
      parameters,
      ...this.#requestBody(method, isBody),
      responses: {
        '200': this.#answer(method, watch),
        default: refusal,
      },
      security: method.id === 'AdminService.Bootstrap' ? [] : bearer,
    };
  }

  #requestBody(method: MethodInfo, isBody: (field: DescField) => boolean): JsonObject {
    const { input, route } = method;
    if (!route?.body) return {};
    const fields = input.fields.filter(isBody);
    const [field] = fields;
    const whole = route.body === '*';
    const schema =
      !whole && field?.fieldKind === 'message'
        ? this.reference(field.message)
        : this.#object(input, fields);
    const needed = !whole || fields.some((f) => fieldRules(this.#schemas.registry, f).required);
    return { requestBody: { required: needed, content: { [json]: { schema } } } };
  }

  #answer(method: MethodInfo, watch: MethodInfo | undefined): JsonObject {
    const { output, standard, streaming, route } = method;
    const events = (schema: JsonSchema) => ({ [eventStream]: { schema } });
    const watched = watch ? events(watchStream(watch.output, this.#refer)) : {};
    if (!streaming)
      return {
        description: 'Done',
        content: { [json]: { schema: this.reference(output) }, ...watched },
      };
    const content = standard
      ? events(watchStream(output, this.#refer))
      : {
          ...events(messageStream(output, this.#refer)),
          ...(route?.method === 'POST'
            ? {}
            : { [jsonLines]: { schema: lineStream(output, this.#refer) } }),
        };
    return { description: 'A stream', content };
  }
}

/** OpenAPI 3.1 of the REST API, from the same descriptors that serve it. */
export function openApiDocument(
  schemas: SchemaRegistry,
  methods: readonly MethodInfo[],
  comments: Comments = {},
): JsonObject {
  const writer = new DocumentWriter(schemas, comments);
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const method of methods) {
    const { route, standard } = method;
    if (!route) continue;
    const watch =
      standard?.verb === 'List'
        ? methods.find((m) => m.standard?.verb === 'Watch' && m.standard.kind === standard.kind)
        : undefined;
    const path = (paths[route.path] ??= {});
    path[route.method.toLowerCase()] = writer.operation(method, watch);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Kedge',
      version: 'v1',
      description:
        'Paths work with and without a trailing slash. Errors have one of ' +
        `${Object.keys(httpStatuses).length - 1} codes, and most have one of the HTTP statuses ${[
          ...new Set(Object.values(httpStatuses)),
        ]
          .filter((status) => status >= 400)
          .sort()
          .join(', ')}.`,
    },
    servers: [{ url: '/', description: 'The server of this document' }],
    paths,
    components: {
      schemas: writer.components,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}
