import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { expect } from 'chai';
import { StatusError } from '../base/index.js';
import { every, schemas } from './codec/every-type.test.js';
import type { JsonObject } from './json.js';
import { requireKnownFields } from './unknown-fields.js';

function refusalOf(work: () => unknown): StatusError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return StatusError.from(error);
  }
}

const numberOf = (name: string): number =>
  every.fields.find((field) => field.name === name)?.number ?? 0;

describe('a value that an enum does not have', () => {
  const encoding = (json: JsonObject): StatusError | undefined =>
    refusalOf(() => schemas.encode(every, json));

  it('is refused by the encoder, with its path and the allowed values, in every form of a field', () => {
    const cases: readonly (readonly [string, JsonObject])[] = [
      ['color', { color: 'BLUE' }],
      ['maybeColor', { maybeColor: 'red' }],
      ['maybe_color', { maybe_color: 'red' }],
      ['manyColor[1]', { manyColor: ['RED', 'BLUE'] }],
      ['mappedColor.a', { mappedColor: { a: 'BLUE' } }],
      ['inner.color', { inner: { color: '' } }],
      ['oneInner.color', { oneInner: { color: true } }],
      ['manyInner[1].inner.color', { manyInner: [{}, { inner: { color: 1.5 } }] }],
      ['mappedInner.x.manyColor[0]', { mappedInner: { x: { manyColor: ['BLUE'] } } }],
    ];
    for (const [path, json] of cases) {
      const refusal = encoding(json);
      expect(refusal?.code, path).to.equal('InvalidArgument');
      expect(refusal?.violations[0]?.field).to.equal(path);
      expect(refusal?.message).to.contain('is not allowed; use one of NONE, RED, BELOW');
    }
  });

  it('is refused with all the others of a message, up to ten', () => {
    const refusal = encoding({ color: 'BLUE', inner: { color: 'PINK' } });
    expect(refusal?.violations.map(({ field }) => field)).to.deep.equal(['color', 'inner.color']);
    const many = encoding({ manyInner: Array.from({ length: 50 }, () => ({ color: 'PINK' })) });
    expect(many?.violations).to.have.length(10);
    const long = encoding({ color: 'x'.repeat(100_000) });
    expect(long?.message.length).to.be.below(300);
  });

  it('is encoded in an answer as a number that the enum does not have, in every form of a field, as often as it occurs', () => {
    const cases: readonly (readonly [JsonObject, JsonObject])[] = [
      [{ color: 'BLUE' }, { color: -1 }],
      [{ maybeColor: 'red' }, { maybeColor: -1 }],
      [{ manyColor: ['RED', 'BLUE'] }, { manyColor: ['RED', -1] }],
      [{ mappedColor: { 'a.b[0]': 'BLUE' } }, { mappedColor: { 'a.b[0]': -1 } }],
      [
        { manyInner: Array.from({ length: 50 }, () => ({ inner: { color: 'PINK' } })) },
        { manyInner: Array.from({ length: 50 }, () => ({ inner: { color: -1 } })) },
      ],
      [{ mappedInner: { x: { color: 1.5 } } }, { mappedInner: { x: { color: -1 } } }],
    ];
    for (const [json, expected] of cases) {
      const before = structuredClone(json);
      const marked = Buffer.from(schemas.encodeAnswer(every, json));
      expect(marked, JSON.stringify(json)).to.deep.equal(
        Buffer.from(schemas.encode(every, expected)),
      );
      expect(Buffer.from(schemas.encodeStored(every, json))).to.deep.equal(marked);
      expect(json, 'the given message').to.deep.equal(before);
      expect(refusalOf(() => requireKnownFields(every, marked))?.code).to.equal('InvalidArgument');
    }
    expect(() => schemas.encodeAnswer(every, { inner: 5 })).to.throw();
  });

  it('may be a number, which a reader gets from a newer peer and writes unchanged', () => {
    for (const json of [{ color: 9 }, { manyColor: [1, 9] }, { mappedColor: { a: 9 } }]) {
      const bytes = schemas.encode(every, json);
      const read = schemas.decode(every, bytes);
      expect(JSON.stringify(read)).to.contain('9');
      expect(Buffer.from(schemas.encode(every, read))).to.deep.equal(Buffer.from(bytes));
    }
  });

  it('is a problem also as a number, because stored objects have names', () => {
    for (const color of ['BLUE', 9, 1])
      expect(schemas.problem(every, { inner: { color } }), String(color)).to.contain(
        `inner.color: ${JSON.stringify(color)} is not allowed; use one of NONE, RED, BELOW`,
      );
    expect(schemas.problem(every, { inner: { color: 'RED' } })).to.equal(undefined);
  });

  it('is refused by number in a request, with its path, in every form of a field', () => {
    const wire = (json: JsonObject): StatusError | undefined =>
      refusalOf(() => requireKnownFields(every, schemas.encode(every, json)));
    const cases: readonly (readonly [string, JsonObject])[] = [
      ['color', { color: 9 }],
      ['color', { color: -4 }],
      ['maybeColor', { maybeColor: 9 }],
      ['manyColor', { manyColor: [1, 9, 1] }],
      ['mappedColor.value', { mappedColor: { a: 9 } }],
      ['inner.manyColor', { inner: { manyColor: [9] } }],
      ['mappedInner.value.color', { mappedInner: { x: { color: 9 } } }],
    ];
    for (const [path, json] of cases) {
      const refusal = wire(json);
      expect(refusal?.code, path).to.equal('InvalidArgument');
      expect(refusal?.violations[0]?.field).to.equal(path);
      expect(refusal?.message).to.match(
        /every\.Color has no value with number -?\d; use one of NONE \(0\), RED \(1\), BELOW \(-3\)/,
      );
    }
    expect(wire({ color: 'BELOW', manyColor: ['RED'], mappedColor: { a: 'NONE' } })).to.equal(
      undefined,
    );
    const unpacked = new BinaryWriter();
    for (const value of [1, 9]) unpacked.tag(numberOf('many_color'), WireType.Varint).int32(value);
    const bytes = unpacked.finish();
    expect(refusalOf(() => requireKnownFields(every, bytes))?.violations[0]?.field).to.equal(
      'manyColor',
    );
  });

  it('is reported once for a field with a million unknown numbers', () => {
    const packed = new BinaryWriter().tag(numberOf('many_color'), WireType.LengthDelimited);
    const refusal = refusalOf(() =>
      requireKnownFields(every, packed.bytes(Buffer.alloc(1_000_000, 9)).finish()),
    );
    expect(refusal?.violations).to.have.length(1);
  });
});
