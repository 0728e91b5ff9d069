import { inspect } from 'node:util';
import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf';
import { expect } from 'chai';
import fc from 'fast-check';
import { baseDescriptors, requireKnownFields } from '../index.js';
import { isJsonObject, type JsonObject } from '../json.js';
import { fromProtoJson } from '../json-form.js';
import { malformed } from '../malformed.js';
import { type DescMessage, SchemaRegistry } from '../schema-registry.js';
import { every, type scalars, schemas } from './every-type.test.js';
import { readMessage } from './message-reader.js';
import { writeMessage } from './message-writer.js';

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
  float: fc.oneof(fc.float({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, -0)),
  bytes: fc.constantFrom('', 'AAEC', 'A'),
  color: fc.oneof(
    { arbitrary: fc.constantFrom('NONE', 'RED', 'BELOW', 0, 1, 9), weight: 30 },
    { arbitrary: fc.constant('BLUE'), weight: 1 },
  ),
  inner: fc.constant({}),
  struct: fc.constantFrom({}, { a: 1 }),
};
const odd = fc.oneof(fc.anything(), fc.constantFrom(null, undefined, -0, NaN, 2 ** 53, '01'));
const keys = fc.oneof(texts, fc.constantFrom('__proto__', 'constructor', '7', '[every.ext]'));

/** An object with these own fields, including `__proto__`. */
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

/** Objects in the form of {@link every}; few of their values are of another type. */
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

const inner = { text: 'z'.repeat(200), long: 2 ** 40, color: 'RED', yes: true, double: 0.1 };
/** A message of ordinary values. */
const ordinary = {
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

const colorFields = every.fields.filter((field) => field.enum);
const innerFields = every.fields.filter((field) => field.message === every);

/** Whether a message has a color that the enum does not have. The general encoder omits it. */
function hasOtherColor(json: JsonObject): boolean {
  const valuesOfFields = (fields: typeof colorFields): readonly unknown[] =>
    fields.flatMap(({ name, jsonName, fieldKind }) =>
      [...new Set([name, jsonName])].flatMap((key) => {
        if (!Object.hasOwn(json, key)) return [];
        const value = json[key];
        if (fieldKind === 'list') return Array.isArray(value) ? (value as readonly unknown[]) : [];
        if (fieldKind !== 'map') return [value];
        return isJsonObject(value) ? Object.values(value) : [];
      }),
    );
  const isKnown = (value: unknown): boolean =>
    value === null ||
    value === undefined ||
    Number.isInteger(value) ||
    ['NONE', 'RED', 'BELOW'].some((name) => name === value);
  return (
    valuesOfFields(colorFields).some((value) => !isKnown(value)) ||
    valuesOfFields(innerFields).some((value) => isJsonObject(value) && hasOtherColor(value))
  );
}

function encoded(of: SchemaRegistry, message: DescMessage, json: JsonObject): string {
  try {
    return Buffer.from(of.encode(message, json)).toString('hex');
  } catch (error) {
    return String(error);
  }
}

describe('the generated encoder of a message', () => {
  it('agrees with the general one, for every type and any value, and refuses unknown values of enums', function () {
    this.timeout(180_000);
    let refused = 0;
    fc.assert(
      fc.property(messages, (json) => {
        const result = encoded(schemas, every, json);
        if (hasOtherColor(json)) {
          expect(result).to.contain('is not allowed; use one of NONE, RED, BELOW');
          refused += 1;
        } else expect(result).to.equal(general(schemas, every, json));
      }),
      { numRuns: 3_000 },
    );
    expect(refused).to.be.at.least(30);
  });

  it('writes ordinary values itself, also long and nested ones', () => {
    const bytes = writeMessage(every, ordinary);
    expect(bytes?.toString('hex')).to.equal(general(schemas, every, ordinary));
  });

  it('writes the length of a nested message also if the buffer is full', () => {
    for (let count = 1_010; count < 1_020; count += 1)
      for (let length = 1; length <= 4; length += 1) {
        const manyText = Array.from({ length: count }, () => 'a');
        const last = { inner: { inner: { double: 1.5 } } };
        const json = { inner: { manyText, text: 'x'.repeat(length), ...last } };
        // A buffer as large as this is replaced by one of 4,096 bytes, which one of these messages fills completely.
        writeMessage(every, { text: 'z'.repeat(400_000) });
        expect(writeMessage(every, json)?.toString('hex')).to.equal(general(schemas, every, json));
      }
  });

  it('delegates values that it does not support to the general one: extensions, oneofs, deep messages', () => {
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

  it('agrees with the general one for messages of the library', () => {
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

/** The result of the general decoder. */
function generallyDecoded(of: SchemaRegistry, message: DescMessage, bytes: Uint8Array): string {
  try {
    const json = toJson(message, fromBinary(message, bytes), { registry: of.registry });
    return inspect(fromProtoJson(message, json as JsonObject), { depth: 200 });
  } catch (error) {
    return String(malformed(message, error));
  }
}

function decoded(of: SchemaRegistry, message: DescMessage, bytes: Uint8Array): string {
  try {
    return inspect(of.decode(message, bytes), { depth: 200 });
  } catch (error) {
    return String(error);
  }
}

/** Encoded messages. */
const binaries = messages.map((json) => {
  try {
    return Buffer.from(schemas.encode(every, json));
  } catch {
    return Buffer.from(schemas.encode(every, { text: 'a', inner: { int: 5 } }));
  }
});
/** Changes of bytes: those of some positions, a cut, and a second message after the first. */
const changes = fc.record({
  bytes: fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 3 }),
  cut: fc.option(fc.nat(), { freq: 3 }),
});

/** A field with its wire type and bytes. */
function field(name: string, type: number, ...content: readonly number[]): Buffer {
  const tag = (every.fields.find((f) => f.name === name)?.number ?? 0) * 8 + type;
  return Buffer.from([(tag % 128) + 128, Math.floor(tag / 128), ...content]);
}

describe('the generated decoder of a message', () => {
  it('agrees with the general one, for every type, and for changed, cut and joined messages', function () {
    this.timeout(180_000);
    let read = 0;
    fc.assert(
      fc.property(binaries, binaries, changes, (one, other, { bytes, cut }) => {
        const changed = Buffer.concat([one, other]);
        for (const [at, byte] of bytes) if (changed.length > 0) changed[at % changed.length] = byte;
        const short = changed.subarray(
          0,
          cut === null ? changed.length : cut % (changed.length + 1),
        );
        for (const given of [one, Buffer.concat([one, other]), short]) {
          expect(decoded(schemas, every, given)).to.equal(generallyDecoded(schemas, every, given));
          if (readMessage(every, given) === undefined) continue;
          read += 1;
          // Messages that it accepts have no unknown fields.
          requireKnownFields(every, given);
        }
      }),
      { numRuns: 3_000 },
    );
    expect(read).to.be.at.least(1_500);
  });

  it('reads ordinary values itself, also long and nested ones', () => {
    const bytes = schemas.encode(every, { ...ordinary, mappedText: { b: 'x', 7: '', '': 'y' } });
    const json = readMessage(every, bytes);
    expect(inspect(json, { depth: 20 })).to.equal(generallyDecoded(schemas, every, bytes));
    expect(readMessage(every, new Uint8Array(bytes))).to.deep.equal(json);
  });

  it('omits zero values of fields without presence, and shows those of optional ones', () => {
    const zeros = (prefix: string): Buffer =>
      Buffer.concat(
        ['text', 'yes', 'int', 'long', 'color'].map((type) =>
          field(prefix === '' ? type : `${prefix}_${type}`, type === 'text' ? 2 : 0, 0),
        ),
      );
    expect(readMessage(every, zeros(''))).to.deep.equal({});
    for (const bytes of [zeros(''), zeros('maybe')])
      expect(inspect(readMessage(every, bytes))).to.equal(generallyDecoded(schemas, every, bytes));
  });

  it('delegates messages that it does not support to the general one', () => {
    const text = schemas.encode(every, { text: 'a' });
    let deep: JsonObject = {};
    for (let depth = 0; depth < 40; depth += 1) deep = { inner: deep };
    const left: readonly Uint8Array[] = [
      schemas.encode(every, { oneText: 'a' }),
      schemas.encode(every, { struct: {} }),
      schemas.encode(every, { text: '\ufffd' }),
      schemas.encode(every, { mappedText: own([['__proto__', 'x']]) }),
      schemas.encode(every, deep),
      Buffer.concat([text, text]),
      // Numbers beyond the range of their type.
      field('int', 0, 0x80, 0x80, 0x80, 0x80, 0x08),
      field('unsigned', 0, 0x80, 0x80, 0x80, 0x80, 0x10),
      field('color', 0, 0x81, 0x80, 0x80, 0x80, 0x10),
      Buffer.concat([text, Buffer.from([0xf8, 0xff, 0x07, 1])]),
      text.subarray(0, -1),
      // Entries of a map: with two values, with an unknown field, and without a value.
      field('mapped_text', 2, 10, 0x0a, 1, 97, 0x12, 1, 98, ...field('text', 2, 1, 99)),
      field('mapped_text', 2, 9, 0x0a, 1, 97, 0x12, 1, 98, 0x12, 1, 99),
      field('mapped_text', 2, 3, 0x0a, 1, 97),
    ];
    for (const bytes of left) {
      expect(readMessage(every, bytes), Buffer.from(bytes).toString('hex')).to.equal(undefined);
      expect(decoded(schemas, every, bytes)).to.equal(generallyDecoded(schemas, every, bytes));
    }
  });
});
