import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { expect } from 'chai';
import fc from 'fast-check';
import { StatusError } from '../base/index.js';
import { baseDescriptors, type DescMessage, requireKnownFields, SchemaRegistry } from './index.js';

const schemas = new SchemaRegistry(baseDescriptors);
const request = schemas.message('kedge.TransactRequest');

function refusalOf(bytes: Uint8Array, message: DescMessage = request): StatusError | undefined {
  try {
    requireKnownFields(message, bytes);
    return undefined;
  } catch (error) {
    return StatusError.from(error);
  }
}

/** A message with one field that contains `inner`. */
function around(number: number, inner: Uint8Array): Uint8Array {
  return new BinaryWriter()
    .uint32(number * 8 + 2)
    .bytes(inner)
    .finish();
}

const unknown = (number: number): Uint8Array =>
  new BinaryWriter().tag(number, 0).uint32(1).finish();

/** A path from a message to a nested message; it wraps the bytes of the nested one. */
interface Place {
  readonly path: string;
  readonly message: DescMessage;
  readonly wrap: (bytes: Uint8Array) => Uint8Array;
}

function placesIn(message: DescMessage, levels: number): Place[] {
  const places: Place[] = [{ path: '', message, wrap: (bytes) => bytes }];
  if (levels === 0) return places;
  for (const { jsonName, number, message: inner, fieldKind } of message.fields) {
    if (!inner) continue;
    const isMap = fieldKind === 'map';
    for (const place of placesIn(inner, levels - 1))
      places.push({
        ...place,
        path: [jsonName, ...(isMap ? ['value'] : []), place.path].filter(Boolean).join('.'),
        wrap: (bytes) => around(number, isMap ? around(2, place.wrap(bytes)) : place.wrap(bytes)),
      });
  }
  return places;
}

describe('a field that a message does not have', () => {
  const places = placesIn(request, 5);

  it('is refused at every depth, with its path, message and number', () => {
    expect(places.length).to.be.above(3);
    for (const { path, message, wrap } of places) {
      const free = Math.max(...message.fields.map(({ number }) => number)) + 1;
      expect(refusalOf(wrap(new Uint8Array())), path).to.equal(undefined);
      const { code, violations } = refusalOf(wrap(unknown(free))) ?? {};
      expect(code, path).to.equal('InvalidArgument');
      expect(violations?.[0]?.field).to.equal([path, free].filter((part) => part !== '').join('.'));
      expect(violations?.[0]?.description).to.contain(
        `${message.typeName} has no field with number ${free};`,
      );
    }
  });

  it('is refused in an entry of a map', () => {
    const withMap = places.find(({ message }) =>
      message.fields.some(({ fieldKind }) => fieldKind === 'map'),
    );
    const map = withMap?.message.fields.find(({ fieldKind }) => fieldKind === 'map');
    if (!withMap || !map) throw new Error('no message has a map');
    const refusal = refusalOf(withMap.wrap(around(map.number, unknown(3))));
    expect(refusal?.message).to.contain(`an entry of ${withMap.message.typeName}.${map.jsonName}`);
  });

  it('is refused in every wire type, and with a short error if there are many', () => {
    const every = Array.from({ length: 50_000 }, (_, n) => unknown(1_000 + n));
    const refusal = refusalOf(Buffer.concat(every));
    expect(refusal?.violations).to.have.length(10);
    expect(refusal?.message.length).to.be.below(2_000);
    for (const type of [0, 1, 2, 3, 5]) {
      const writer = new BinaryWriter().tag(999, type);
      if (type === 0 || type === 2) writer.raw(Uint8Array.of(0));
      if (type === 1) writer.raw(new Uint8Array(8));
      if (type === 5) writer.raw(new Uint8Array(4));
      if (type === 3) writer.tag(999, 4);
      expect(refusalOf(writer.finish())?.message, String(type)).to.contain('number 999');
    }
  });

  it('is not found in any message of the encoder', () => {
    const text = fc.string({ maxLength: 20 });
    const operation = fc.record({ name: text, namespace: text, kind: text });
    fc.assert(
      fc.property(fc.array(operation), text, (operations, storeId) => {
        const bytes = schemas.encode(request, { operations, storeId });
        expect(refusalOf(bytes)).to.equal(undefined);
      }),
    );
  });

  it('is searched for in malformed bytes, whose refusal is an invalid argument', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const refusal = refusalOf(bytes);
        if (refusal) expect(refusal.code).to.equal('InvalidArgument');
      }),
    );
    expect(refusalOf(Buffer.alloc(1_000_000, 0x0b))?.code ?? 'OK').to.match(/OK|InvalidArgument/);
  });

  it('that extends beyond its enclosing message is refused, where the decoder continues', () => {
    const { number } = request.fields.find((field) => field.message !== undefined) ?? { number: 0 };
    // A message of one byte, which is the tag of a string: the decoder reads its length and content beyond the end.
    const bytes = Buffer.from([(number << 3) | 2, 1, 0x0a, 1, 0x41]);
    expect(refusalOf(bytes)?.reason).to.equal('MalformedMessage');
  });
});
