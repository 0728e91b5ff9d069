import { create, toBinary } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FieldMaskSchema,
  type FileDescriptorProto,
  FileDescriptorSetSchema,
  StructSchema,
} from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import fc from 'fast-check';
import { StatusError } from '../base/index.js';
import { baseDescriptors } from './index.js';
import type { JsonObject } from './json.js';
import { SchemaRegistry } from './schema-registry.js';

const schemas = new SchemaRegistry(baseDescriptors);
const filler = 'x'.repeat(4_000);

/** Decodes in turns; returns the number of turns. */
async function inTurns(
  type: string,
  bytes: Uint8Array,
): Promise<{ readonly json: unknown; readonly turns: number }> {
  let turns = 0;
  const json = await schemas.decodeInTurns(schemas.message(type), bytes, () => {
    turns += 1;
    return Promise.resolve();
  });
  return { json, turns };
}

const encoded = (type: string, json: JsonObject): Uint8Array =>
  schemas.encode(schemas.message(type), json);
const decoded = (type: string, bytes: Uint8Array): JsonObject =>
  schemas.decode(schemas.message(type), bytes);

const struct = 'google.protobuf.Struct';
const transact = 'kedge.TransactRequest';

/** JSON with many values longer than the part that is decoded in one turn. */
const values = fc.letrec<{ readonly value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(null, true, 0, -1.5, '', 'ä', filler, filler),
    fc.array(tie('value'), { maxLength: 12 }),
    fc.dictionary(fc.constantFrom('a', 'b', '7', '', filler), tie('value'), { maxKeys: 5 }),
  ),
})).value;

describe('a long message', () => {
  it('is decoded in many turns: elements of a list, of a map, and of JSON within JSON', async () => {
    const fields = Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`f${n}`, `v${n}`]));
    const operation = { name: 'a', precondition: { uid: 'u', fields } };
    const operations = [operation, ...Array<JsonObject>(9_000).fill({ name: 'b' }), operation];
    const bytes = encoded(transact, { operations, storeId: 's' });
    const { json, turns } = await inTurns(transact, bytes);
    expect(json).to.deep.equal(decoded(transact, bytes));
    expect(turns).to.be.at.least(15);
    const nested = encoded(struct, { data: fields, list: [fields, [fields]] });
    const whole = await inTurns(struct, nested);
    expect(whole.json).to.deep.equal(decoded(struct, nested));
    expect(whole.turns).to.be.at.least(15);
  });

  it('that contains JSON of any shape has the same result in turns, also as messages that merge', async function () {
    this.timeout(180_000);
    await fc.assert(
      fc.asyncProperty(values, values, async (a, b) => {
        const one = encoded(struct, { a, both: [filler, a], filler });
        const other = encoded(struct, { b, both: [b, b, filler], a: { b } });
        for (const bytes of [one, Buffer.concat([one, other]), Buffer.concat([other, one, one])])
          expect((await inTurns(struct, bytes)).json).to.deep.equal(decoded(struct, bytes));
      }),
      { numRuns: 100 },
    );
  });

  it('merges with earlier fields as in one turn: lists, maps, single messages, strings', async () => {
    const fields = (from: number): JsonObject =>
      Object.fromEntries(Array.from({ length: 4_000 }, (_, n) => [`f${from + n}`, `v${from}`]));
    const operation = 'kedge.ObjectOperation';
    const parts = [0, 2_000, 90_000].map((from) =>
      encoded(operation, { name: `n${from}`, precondition: { uid: 'u', fields: fields(from) } }),
    );
    const bytes = Buffer.concat([...parts, encoded(operation, { kind: 'Lamp', precondition: {} })]);
    expect((await inTurns(operation, bytes)).json).to.deep.equal(decoded(operation, bytes));
    const first = encoded(transact, { operations: [decoded(operation, bytes)], storeId: 'a' });
    const twice = Buffer.concat([first, encoded(transact, { storeId: 'b' }), first]);
    expect((await inTurns(transact, twice)).json).to.deep.equal(decoded(transact, twice));
  });

  it('is refused if it is truncated at any byte', async () => {
    const bytes = encoded(struct, { a: { long: Array<string>(6).fill(filler) }, b: filler });
    for (let cut = 1; cut < bytes.length; cut += 997) {
      const refusal = await inTurns(struct, bytes.subarray(0, cut)).catch(
        (error: unknown) => error,
      );
      expect(StatusError.from(refusal).reason, String(cut)).to.equal('MalformedMessage');
    }
  });

  it('is refused if it is nested deeper than the decoder of short messages allows', async () => {
    let value: unknown = Array<string>(6).fill(filler);
    for (let depth = 0; depth < 32; depth += 1) value = { value };
    const bytes = encoded(struct, { value });
    expect((await inTurns(struct, bytes)).json).to.deep.equal(decoded(struct, bytes));
    let deep: Uint8Array = bytes;
    // Each level is a field of the level above; the encoder itself does not nest this deep.
    const tag = (number: number, content: Uint8Array): Uint8Array => {
      const length: number[] = [];
      for (let left = content.length; ; left >>>= 7) {
        length.push(left > 127 ? (left & 127) | 128 : left);
        if (left <= 127) break;
      }
      return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), content]);
    };
    for (let depth = 0; depth < 40; depth += 1) deep = tag(1, tag(2, tag(5, deep)));
    const refusal = await inTurns(struct, deep).catch((error: unknown) => error);
    expect(StatusError.from(refusal).reason).to.equal('MalformedMessage');
  });

  /** A field with a length. */
  const field = (number: number, content: string | Uint8Array): Buffer => {
    const bytes = Buffer.from(content);
    const { length } = bytes;
    const head = [(number << 3) | 2, length | 128, (length >> 7) | 128, length >> 14];
    return Buffer.concat([Buffer.from(head), bytes]);
  };
  const entry = (key: string | Uint8Array, value: Uint8Array): Buffer =>
    field(1, Buffer.concat([field(1, key), field(2, value)]));
  const text = field(3, filler.repeat(5));

  it('is the same with fields that it does not know, and with the key __proto__', async () => {
    const unknown = Buffer.concat([field(5, entry('k', text)), field(15, 'u')]);
    const polluting = field(5, entry('inherited', text));
    const bytes = Buffer.concat([
      entry('a', unknown),
      entry('__proto__', polluting),
      entry('b', text),
      entry('__proto__', polluting),
    ]);
    const { json } = await inTurns(struct, bytes);
    expect(JSON.parse(JSON.stringify(json))).to.deep.equal(
      JSON.parse(JSON.stringify(decoded(struct, bytes))),
    );
    expect(json).to.not.have.property('inherited');
  });

  it('is refused with a key that is not UTF-8, or a value of another wire type', async () => {
    const number = Buffer.concat([field(5, entry('k', text)), Buffer.from([0x28, 1])]);
    for (const bytes of [entry(Buffer.from([0xff, 0xfe]), text), entry('a', number)]) {
      expect(() => decoded(struct, bytes)).to.throw(StatusError);
      const refusal = await inTurns(struct, bytes).catch((error: unknown) => error);
      expect(StatusError.from(refusal).reason).to.equal('MalformedMessage');
    }
  });

  it('with the schema of an embedder is the same, with numbers as keys and a type with a JSON form of its own', async () => {
    const own = {
      name: 'own.proto',
      package: 'own',
      syntax: 'proto3',
      dependency: ['google/protobuf/struct.proto', 'google/protobuf/field_mask.proto'],
      messageType: [
        {
          name: 'Own',
          field: [
            { name: 'by', number: 1, label: Label.REPEATED, typeName: '.own.Own.ByEntry' },
            {
              name: 'mask',
              number: 2,
              label: Label.OPTIONAL,
              typeName: '.google.protobuf.FieldMask',
            },
          ].map((of) => ({ ...of, jsonName: of.name, type: Type.MESSAGE })),
          nestedType: [
            {
              name: 'ByEntry',
              options: { mapEntry: true },
              field: [
                { name: 'key', number: 1, type: Type.INT32 },
                {
                  name: 'value',
                  number: 2,
                  type: Type.MESSAGE,
                  typeName: '.google.protobuf.Struct',
                },
              ].map((of) => ({ ...of, jsonName: of.name, label: Label.OPTIONAL })),
            },
          ],
        },
      ],
    };
    const file = [StructSchema.file.proto, FieldMaskSchema.file.proto, own as FileDescriptorProto];
    const set = create(FileDescriptorSetSchema, { file });
    const of = new SchemaRegistry(
      Buffer.from(toBinary(FileDescriptorSetSchema, set)).toString('base64'),
    );
    const bytes = Buffer.concat([
      field(1, Buffer.concat([Buffer.from([8, 7]), field(2, entry('k', text))])),
      field(2, field(1, 'a'.repeat(20_000))),
    ]);
    const message = of.message('own.Own');
    const json = await of.decodeInTurns(message, bytes, () => Promise.resolve());
    expect(json).to.deep.equal(of.decode(message, bytes));
    expect(json).to.have.nested.property('by.7.k');
  });
});
