import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type ServiceDescriptorProto,
  ServiceDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import type { AnyKind, DeclaredKind } from '../../object/index.js';
import { baseDescriptors, bodyField, OptionWriter, SchemaRegistry } from '../../rpc/index.js';
import type { ServedKind } from './served-kind.js';
import { DeclaredMessages, fieldDescriptor } from './declared-messages.js';
import { mount, type MountedKind } from './mounted-kinds.js';
import type { Comments } from '../schema/openapi.js';

const objectFile = 'kedge/object.proto';

type Parts = readonly (readonly [
  name: string,
  type: Type,
  typeName?: string,
  repeated?: boolean,
])[];

function plainMessage(name: string, parts: Parts): DescriptorProto {
  return create(DescriptorProtoSchema, {
    name,
    field: parts.map(([part, type, typeName = '', repeated = false], at) =>
      fieldDescriptor({ name: part, number: at + 1, type, typeName, repeated }),
    ),
  });
}

function requestMessages(packageName: string, kind: AnyKind): readonly DescriptorProto[] {
  const { kind: name } = kind;
  const object = `.${packageName}.${name}`;
  const where: Parts = kind.scope === 'Namespaced' ? [['namespace', Type.STRING]] : [];
  const which: Parts = [...where, ['name', Type.STRING]];
  const body: Parts = [[bodyField(kind), Type.MESSAGE, object]];
  const dryRun: Parts = [['dryRun', Type.BOOL]];
  const event = plainMessage('Event', [
    ['type', Type.ENUM, '.kedge.EventType'],
    ['object', Type.MESSAGE, object],
  ]);
  const watchAnswer = plainMessage(`Watch${name}Response`, [
    ['events', Type.MESSAGE, `.${packageName}.Watch${name}Response.Event`, true],
    ['resourceVersion', Type.STRING],
  ]);
  watchAnswer.nestedType.push(event);
  const selector: Parts = [
    ['labelSelector', Type.STRING],
    ['fieldSelector', Type.STRING],
  ];
  const version: Parts = [['resourceVersion', Type.STRING]];
  return [
    plainMessage(`Get${name}Request`, which),
    plainMessage(`List${name}Request`, [
      ...where,
      ['limit', Type.INT32],
      ['pageToken', Type.STRING],
      ...selector,
    ]),
    plainMessage(`List${name}Response`, [
      ['items', Type.MESSAGE, object, true],
      ['resourceVersion', Type.STRING],
      ['nextPageToken', Type.STRING],
    ]),
    plainMessage(`Create${name}Request`, [...where, ...body, ...dryRun]),
    plainMessage(`Update${name}Request`, [...which, ...body, ...dryRun]),
    // Names of the set status fields, comma-separated: protobuf can't represent an empty value otherwise.
    plainMessage(`UpdateStatus${name}Request`, [...which, ...body, ['updateMask', Type.STRING]]),
    plainMessage(`Delete${name}Request`, [...which, ...dryRun, ...version, ['uid', Type.STRING]]),
    plainMessage(`Watch${name}Request`, [...where, ...version, ...selector]),
    watchAnswer,
  ];
}

function service(
  packageName: string,
  pathPrefix: string,
  kind: AnyKind,
  options: OptionWriter,
): ServiceDescriptorProto {
  const { kind: name, plural } = kind;
  const object = `.${packageName}.${name}`;
  const all =
    kind.scope === 'Namespaced'
      ? `${pathPrefix}/namespaces/{namespace}/${plural}`
      : `${pathPrefix}/${plural}`;
  const one = `${all}/{name}`;
  const body = bodyField(kind);
  const methods = [
    ['Get', object, { get: one }],
    ['List', `.${packageName}.List${name}Response`, { get: all }],
    ['Create', object, { post: all, body }],
    ['Update', object, { put: one, body }],
    ['UpdateStatus', object, { put: `${one}/status`, body }],
    ['Delete', object, { delete: one }],
    ['Watch', `.${packageName}.Watch${name}Response`, { get: `${all}:watch` }],
  ] as const;
  return create(ServiceDescriptorProtoSchema, {
    name: `${name}Service`,
    method: methods.map(([verb, outputType, route]) => ({
      name: verb,
      inputType: `.${packageName}.${verb}${name}Request`,
      outputType,
      serverStreaming: verb === 'Watch',
      options: options.httpRoute(route),
    })),
  });
}

/** An API that was created from declarations, for server and clients. */
export interface DescribedKinds {
  /** A FileDescriptorSet, base64, for clients, and for tools such as protoc after decoding. */
  readonly descriptorSet: string;
  readonly schemas: SchemaRegistry;
  readonly packageName: string;
  readonly kinds: readonly ServedKind[];
  /** Descriptions of fields, for the OpenAPI document. */
  readonly comments: () => Promise<Comments>;
}

function requireDistinct(kinds: readonly AnyKind[], messages: readonly DescriptorProto[]): void {
  const names = messages.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new TypeError(`two messages are named "${twice}": rename a kind, or a top-level object`);
  const plurals = kinds.map(({ plural }) => plural);
  const same = plurals.find((plural, at) => plurals.indexOf(plural) !== at);
  if (same !== undefined) throw new TypeError(`two kinds have the plural "${same}"; rename one`);
}

/**
 * Describes declared kinds as a protobuf package with one service each: Get, List, Create, Update, UpdateStatus,
 * Delete and Watch, over gRPC and under `/<version>/...` over REST. Client and server that declare the same kinds
 * need no .proto file.
 *
 * @param packageName such as `shop.v1`; its last part is the version in paths
 * @throws TypeError for two kinds, plurals or messages of one name, and for two types of one name within a message
 */
export function describeKinds(
  packageName: string,
  kinds: readonly (DeclaredKind | MountedKind)[],
): DescribedKinds {
  const base = fromBinary(FileDescriptorSetSchema, Buffer.from(baseDescriptors, 'base64'));
  const options = new OptionWriter(new SchemaRegistry(baseDescriptors));
  const pathPrefix = `/${packageName.split('.').at(-1) ?? 'v1'}`;
  const mounted = kinds.map((kind) => ('rules' in kind ? kind : mount(kind)));
  const messages = new DeclaredMessages(packageName, options);
  const made = mounted.flatMap((each) => [
    messages.kind(each),
    ...requestMessages(packageName, each.kind),
  ]);
  const messageType = [...made, ...messages.topLevel];
  const declared = mounted.map(({ kind }) => kind);
  requireDistinct(declared, messageType);
  const file = create(FileDescriptorProtoSchema, {
    name: `${packageName.replaceAll('.', '/')}/kinds.proto`,
    package: packageName,
    syntax: 'proto3',
    dependency: [
      objectFile,
      'google/protobuf/struct.proto',
      'google/api/annotations.proto',
      'google/api/field_behavior.proto',
      'kedge/field.proto',
    ],
    messageType,
    service: declared.map((kind) => service(packageName, pathPrefix, kind, options)),
  });
  const set = create(FileDescriptorSetSchema, { file: [...base.file, file] });
  const descriptorSet = Buffer.from(toBinary(FileDescriptorSetSchema, set)).toString('base64');
  return {
    descriptorSet,
    schemas: new SchemaRegistry(descriptorSet),
    packageName,
    kinds: mounted.map(({ kind, rules }) => ({
      kind,
      message: `${packageName}.${kind.kind}`,
      rules,
    })),
    comments: () => Promise.resolve(messages.comments),
  };
}
