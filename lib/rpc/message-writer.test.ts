import { create, fromJson, type JsonValue, toBinary } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorSetSchema,
  StructSchema,
} from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import fc from 'fast-check';
import { baseDescriptors } from './index.js';
import type { JsonObject } from './json.js';
import { writeMessage } from './message-writer.js';
import { type DescMessage, SchemaRegistry } from './schema-registry.js';

const scalars = {
  text: Type.STRING,
  yes: Type.BOOL,
  int: Type.INT32,
  unsigned: Type.UINT32,
  signed: Type.SINT32,
  long: Type.INT64,
  unsignedLong: Type.UINT64,
  double: Type.DOUBLE,
  float: Type.FLOAT,
  bytes: Type.BYTES,
  color: Type.ENUM,
  inner: Type.MESSAGE,
  struct: Type.MESSAGE,
} as const;
const snake = (name: string): string => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

/** A message with fields of every type: plain, optional, in a list, in a map, and one of two. */
function everyType(): SchemaRegistry {
  const forms = ['', 'maybe', 'many', 'mapped'];
  const names = Object.keys(scalars) as (keyof typeof scalars)[];
  const typeNames: Record<string, string> = {
    color: '.every.Color',
    inner: '.every.Every',
    struct: '.google.protobuf.Struct',
  };
  const typed = (name: keyof typeof scalars) => ({
    type: scalars[name],
    ...(typeNames[name] ? { typeName: typeNames[name] } : {}),
  });
  const optional = names.filter((name) => scalars[name] !== Type.MESSAGE);
  const fields = forms.flatMap((form, at) =>
    (form === 'maybe' ? optional : names).map((name) => {
      const json = form === '' ? name : `${form}${name[0]?.toUpperCase()}${name.slice(1)}`;
      // The numbers are in another order than the names, and some need a tag of three bytes.
      const number = 40 * (forms.length - at) + names.indexOf(name) * (at === 2 ? 200 : 1) + 1;
      const field = { name: snake(json), jsonName: json, number, ...typed(name) };
      if (form === 'many') return { ...field, label: Label.REPEATED };
      if (form === 'maybe')
        return { ...field, proto3Optional: true, oneofIndex: optional.indexOf(name) + 1 };
      if (form !== 'mapped') return field;
      const typeName = `.every.Every.${json[0]?.toUpperCase()}${json.slice(1)}Entry`;
      return { ...field, label: Label.REPEATED, type: Type.MESSAGE, typeName };
    }),
  );
  const choices = (['text', 'inner'] as const).map((name, at) => ({
    ...{ name: `one_${name}`, jsonName: name === 'text' ? 'oneText' : 'oneInner' },
    ...{ number: 9_000 + at, ...typed(name), oneofIndex: 0 },
  }));
  const entries = names.map((name) => ({
    name: `Mapped${name[0]?.toUpperCase()}${name.slice(1)}Entry`,
    options: { mapEntry: true },
    field: [
      { name: 'key', jsonName: 'key', number: 1, type: Type.STRING },
      { name: 'value', jsonName: 'value', number: 2, ...typed(name) },
    ],
  }));
  const color = [
    { name: 'NONE', number: 0 },
    { name: 'RED', number: 1 },
    { name: 'BELOW', number: -3 },
  ];
  const oneofDecl = [{ name: 'one' }, ...optional.map((name) => ({ name: `_maybe_${name}` }))];
  const set = create(FileDescriptorSetSchema, {
    file: [
      StructSchema.file.proto,
      {
        name: 'every.proto',
        package: 'every',
        syntax: 'proto3',
        dependency: [StructSchema.file.proto.name],
        enumType: [{ name: 'Color', value: color }],
        messageType: [
          { name: 'Every', field: [...fields, ...choices], nestedType: entries, oneofDecl },
        ],
      },
    ],
  });
  return new SchemaRegistry(Buffer.from(toBinary(FileDescriptorSetSchema, set)).toString('base64'));
}

const schemas = everyType();
const every = schemas.message('every.Every');

/** The result of the general encoder. */
function general(of: SchemaRegistry, message: DescMessage, json: JsonObject): string {
  try {
    const options = { registry: of.registry, ignoreUnknownFields: true };
    const bytes = toBinary(message, fromJson(message, json as JsonValue, options));
    return Buffer.from(bytes).toString('hex');
  } catch (error) {
    return String(error);
  }
}

function encoded(of: SchemaRegistry, message: DescMessage, json: JsonObject): string {
  try {
    return Buffer.from(of.encode(message, json)).toString('hex');
  } catch (error) {
    return String(error);
  }
}

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom('', 'ä'.repeat(60), 'x'.repeat(128), 'y'.repeat(70_000), '\ud800', '\ufeffa'),
);
const valid: Readonly<Record<keyof typeof scalars, fc.Arbitrary<unknown>>> = {
  text: texts,
  yes: fc.boolean(),
  int: fc.oneof(fc.integer(), fc.constantFrom(0, -0, 127, 128, 2 ** 31 - 1)),
  unsigned: fc.oneof(fc.nat(), fc.constantFrom(0, -0, 2 ** 32 - 1, 2 ** 28)),
  signed: fc.integer(),
  long: fc.oneof(
    fc.maxSafeInteger(),
    fc.constantFrom(0, -0, '0', '7', '007', '-1', '9'.repeat(18)),
  ),
  unsignedLong: fc.oneof(fc.maxSafeNat(), fc.constantFrom('0', '18446744073709551615', 2 ** 53)),
  double: fc.oneof(fc.double(), fc.constantFrom(0, -0, '1.5', 'NaN')),
  float: fc.float({ noNaN: true, noDefaultInfinity: true }),
  bytes: fc.constantFrom('', 'AAEC', 'A'),
  color: fc.constantFrom('NONE', 'RED', 'BELOW', 'BLUE', 0, 1, 9),
  inner: fc.constant({}),
  struct: fc.constantFrom({}, { a: 1 }),
};
const odd = fc.oneof(fc.anything(), fc.constantFrom(null, undefined, -0, NaN, 2 ** 53, '01'));
const keys = fc.oneof(texts, fc.constantFrom('__proto__', 'constructor', '7', '[every.ext]'));

function own(entries: readonly (readonly [string, unknown])[]): JsonObject {
  return Object.fromEntries(entries);
}

/** Values of a field: mostly of its type. */
function valuesOf(name: string, json: fc.Arbitrary<JsonObject>): fc.Arbitrary<unknown> {
  const [, form = '', rest = ''] = /^(maybe|many|mapped|one)?(.*)$/.exec(name) ?? [];
  const type = `${rest[0]?.toLowerCase()}${rest.slice(1)}` as keyof typeof scalars;
  const single = type === 'inner' ? json : Object.hasOwn(valid, type) ? valid[type] : odd;
  const value = fc.oneof({ arbitrary: single, weight: 60 }, { arbitrary: odd, weight: 1 });
  if (form === 'many') return fc.array(value, { maxLength: 3 });
  if (form === 'mapped') return fc.array(fc.tuple(keys, value), { maxLength: 3 }).map(own);
  return value;
}

const messages = fc.letrec<{ readonly json: JsonObject }>((tie) => ({
  json: fc
    .uniqueArray(
      fc.oneof(
        { arbitrary: fc.constantFrom(...every.fields.map(({ jsonName }) => jsonName)), weight: 40 },
        { arbitrary: fc.constantFrom(...every.fields.map(({ name }) => name)), weight: 1 },
        { arbitrary: keys, weight: 1 },
      ),
      { maxLength: 7 },
    )
    .chain((names) =>
      fc.tuple(
        ...names.map((name) =>
          fc.tuple(
            fc.constant(name),
            valuesOf(
              name,
              fc.oneof({ maxDepth: 3, depthIdentifier: 'json' }, fc.constant({}), tie('json')),
            ),
          ),
        ),
      ),
    )
    .map(own),
})).json;

describe('the encoder that is made for a message', () => {
  it('agrees with the general one, for every type and any value', function () {
    this.timeout(180_000);
    fc.assert(
      fc.property(messages, (json) => {
        expect(encoded(schemas, every, json)).to.equal(general(schemas, every, json));
      }),
      { numRuns: 3_000 },
    );
  });

  it('writes ordinary values itself, also long and nested ones', () => {
    const inner = { text: 'z'.repeat(200), long: 2 ** 40, color: 'RED', yes: true, double: 0.1 };
    const json = {
      ...inner,
      int: 5,
      unsigned: 2 ** 31,
      inner: { inner, maybeText: '', maybeInt: 0 },
      manyText: ['a', '', 'ß'.repeat(100)],
      manyInner: [inner, {}, { manyInner: [inner] }],
      mappedText: own([
        ['__proto__', 'x'],
        ['7', 'y'],
        ['', ''],
      ]),
      mappedInner: { a: inner },
      unknown: 1,
    };
    const bytes = writeMessage(every, json);
    expect(bytes?.toString('hex')).to.equal(general(schemas, every, json));
  });

  it('leaves to the general one what it does not know: extensions, oneofs, deep messages', () => {
    let deep: JsonObject = {};
    for (let depth = 0; depth < 40; depth += 1) deep = { inner: deep };
    const left: readonly JsonObject[] = [
      { oneText: 'a' },
      { many_text: ['a'] },
      { '[every.ext]': 1 },
      { text: undefined },
      { struct: {} },
      deep,
    ];
    for (const json of left) {
      expect(writeMessage(every, json), JSON.stringify(json)).to.equal(undefined);
      expect(encoded(schemas, every, json)).to.equal(general(schemas, every, json));
    }
  });

  it('agrees for the messages of the library, whose tests name every field', () => {
    const base = new SchemaRegistry(baseDescriptors);
    const cases: readonly (readonly [string, JsonObject])[] = [
      ['kedge.TransactRequest', { storeId: 's', operations: [{ type: 'CREATE', name: 'a' }] }],
      ['grpc.reflection.v1.ServerReflectionRequest', { host: 'h', listServices: '' }],
      ['google.protobuf.Struct', { a: [1, { b: null }] }],
    ];
    for (const [type, json] of cases)
      expect(encoded(base, base.message(type), json), type).to.equal(
        general(base, base.message(type), json),
      );
  });
});
