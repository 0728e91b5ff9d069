import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  type FieldDescriptorProto,
  FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type ServiceDescriptorProto,
  ServiceDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import type { AnyKind, ApiObject, Kind } from '../object/index.js';
import { baseDescriptors, bodyField, OptionWriter, SchemaRegistry } from '../rpc/index.js';
import type { AdmissionRules, ServedKind } from './admission.js';

/** What a field holds, and the rules that can be stated about it. */
export interface FieldSpec {
  /** `json` is any JSON object; `map` has text values. */
  readonly type: 'string' | 'integer' | 'boolean' | 'strings' | 'map' | 'json';
  readonly required?: boolean;
  /** May not change once the object exists. */
  readonly immutable?: boolean;
  /** `dns-label`, `quantity` or `absolute-path`; for strings. */
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

/** A spec, or only its type. */
type FieldInit = FieldSpec | FieldSpec['type'];

/** Every field of an object type but those that every object has. */
export type FieldsOf<T extends ApiObject> = {
  readonly [F in Exclude<keyof T & string, keyof ApiObject>]-?: FieldInit;
};

/** A kind to be mounted. Make it with {@link mount}. */
export interface MountedKind {
  readonly kind: AnyKind;
  readonly fields: Readonly<Record<string, FieldInit>>;
  readonly rules: AdmissionRules;
}

/** Declares the fields and rules of a kind that is mounted; the compiler wants every field. */
export function mount<T extends ApiObject, S extends string, I extends string>(
  kind: Kind<T, S, I>,
  fields: FieldsOf<T>,
  rules: AdmissionRules<T> = {},
): MountedKind {
  return { kind, fields, rules: rules };
}

const objectFile = 'kedge/object.proto';
const behaviour = { required: 2, outputOnly: 3, immutable: 5 } as const;

/** camelCase as protobuf spells it: `notAfter` is `not_after`, and `notAfter` again in JSON. */
function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

interface FieldOf {
  readonly name: string;
  readonly number: number;
  readonly type: Type;
  readonly typeName?: string;
  readonly repeated?: boolean;
}

function field({ name, number, type, typeName = '', repeated }: FieldOf): FieldDescriptorProto {
  return create(FieldDescriptorProtoSchema, {
    name: snake(name),
    jsonName: name,
    number,
    type,
    typeName,
    label: repeated ? Label.REPEATED : Label.OPTIONAL,
  });
}

/** A text map is a repeated nested entry message, as protoc writes it. */
function mapField(message: DescriptorProto, owner: string, name: string, number: number): void {
  const entry = `${name.charAt(0).toUpperCase()}${name.slice(1)}Entry`;
  message.nestedType.push(
    create(DescriptorProtoSchema, {
      name: entry,
      field: [
        field({ name: 'key', number: 1, type: Type.STRING }),
        field({ name: 'value', number: 2, type: Type.STRING }),
      ],
      options: { mapEntry: true },
    }),
  );
  const typeName = `.${owner}.${entry}`;
  message.field.push(field({ name, number, type: Type.MESSAGE, typeName, repeated: true }));
}

const scalars = { string: Type.STRING, integer: Type.INT32, boolean: Type.BOOL } as const;

function objectMessage(
  packageName: string,
  { kind, fields }: MountedKind,
  options: OptionWriter,
): DescriptorProto {
  const owner = `${packageName}.${kind.kind}`;
  const message = create(DescriptorProtoSchema, { name: kind.kind });
  const name = field({ name: 'name', number: 1, type: Type.STRING });
  options.setFieldRules(name, [behaviour.required], { format: 'dns-label' });
  message.field.push(name);
  if (kind.scope === 'Namespaced')
    message.field.push(field({ name: 'namespace', number: 2, type: Type.STRING }));
  mapField(message, owner, 'labels', 3);
  const typeName = '.kedge.ObjectMeta';
  message.field.push(field({ name: 'metadata', number: 4, type: Type.MESSAGE, typeName }));
  // Numbers follow the declaration: new fields go last, so that old clients understand new servers.
  Object.entries(fields).forEach(([fieldName, init], at) => {
    const spec: FieldSpec = typeof init === 'string' ? { type: init } : init;
    const number = 16 + at;
    if (spec.type === 'map') {
      mapField(message, owner, fieldName, number);
    } else {
      const struct = '.google.protobuf.Struct';
      message.field.push(
        spec.type === 'json'
          ? field({ name: fieldName, number, type: Type.MESSAGE, typeName: struct })
          : spec.type === 'strings'
            ? field({ name: fieldName, number, type: Type.STRING, repeated: true })
            : field({ name: fieldName, number, type: scalars[spec.type] }),
      );
    }
    const last = message.field.at(-1);
    const behaviours = [
      ...(spec.required ? [behaviour.required] : []),
      ...(spec.immutable ? [behaviour.immutable] : []),
      ...(kind.statusFields.includes(fieldName) ? [behaviour.outputOnly] : []),
    ];
    if (last) options.setFieldRules(last, behaviours, spec);
  });
  return message;
}

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
      field({ name: part, number: at + 1, type, typeName, repeated }),
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
    plainMessage(`UpdateStatus${name}Request`, [...which, ...body]),
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

/** An API made from declarations: what server and clients run on. */
export interface DescribedKinds {
  /** A FileDescriptorSet, base64: for clients, and for protoc-like tools after decoding. */
  readonly descriptorSet: string;
  readonly schemas: SchemaRegistry;
  readonly packageName: string;
  readonly kinds: readonly ServedKind[];
}

/**
 * Describes kinds as a protobuf package with one service each: Get, List, Create, Update,
 * UpdateStatus, Delete and Watch, over gRPC and under `/<version>/...` over REST. Client and server
 * that declare the same kinds agree without a .proto file.
 *
 * @param packageName such as `shop.v1`; its last part is the version in paths
 */
export function describeKinds(packageName: string, kinds: readonly MountedKind[]): DescribedKinds {
  const base = fromBinary(FileDescriptorSetSchema, Buffer.from(baseDescriptors, 'base64'));
  const options = new OptionWriter(new SchemaRegistry(baseDescriptors));
  const pathPrefix = `/${packageName.split('.').at(-1) ?? 'v1'}`;
  const file = create(FileDescriptorProtoSchema, {
    name: `${packageName.replaceAll('.', '/')}/kinds.proto`,
    package: packageName,
    syntax: 'proto3',
    dependency: [objectFile, 'google/protobuf/struct.proto', 'google/api/annotations.proto'],
    messageType: kinds.flatMap((mounted) => [
      objectMessage(packageName, mounted, options),
      ...requestMessages(packageName, mounted.kind),
    ]),
    service: kinds.map(({ kind }) => service(packageName, pathPrefix, kind, options)),
  });
  const set = create(FileDescriptorSetSchema, { file: [...base.file, file] });
  const descriptorSet = Buffer.from(toBinary(FileDescriptorSetSchema, set)).toString('base64');
  return {
    descriptorSet,
    schemas: new SchemaRegistry(descriptorSet),
    packageName,
    kinds: kinds.map(({ kind, rules }) => ({
      kind,
      message: `${packageName}.${kind.kind}`,
      rules,
    })),
  };
}
