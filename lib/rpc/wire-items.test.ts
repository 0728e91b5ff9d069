import { expect } from 'chai';
import fc from 'fast-check';
import { limits, StatusError } from '../base/index.js';
import { baseDescriptors } from './index.js';
import type { JsonObject } from './json.js';
import { SchemaRegistry } from './schema-registry.js';
import { requireFewItems } from './wire-items.js';

const schemas = new SchemaRegistry(baseDescriptors);
const message = schemas.message('kedge.TransactRequest');
const max = limits.requestItemsMax;
const operationsTag =
  ((message.fields.find(({ name }) => name === 'operations')?.number ?? 0) << 3) | 2;
const reasonOf = (bytes: Uint8Array): string => {
  try {
    requireFewItems(message, bytes);
    return 'OK';
  } catch (error) {
    return StatusError.from(error).reason;
  }
};
const of = (request: JsonObject): Uint8Array => schemas.encode(message, request);
const operationWith = (fields: number): JsonObject => ({
  name: 'a',
  precondition: { fields: Object.fromEntries(Array.from({ length: fields }, (_, n) => [n, ''])) },
});

describe('items of a message', () => {
  it('are counted before they are decoded: operations, entries of maps, unknown fields', () => {
    const operations = (count: number) => of({ operations: Array<JsonObject>(count).fill({}) });
    expect(reasonOf(operations(max))).to.equal('OK');
    expect(reasonOf(operations(max + 1))).to.equal('TooManyItems');
    // The operation and its precondition count as two.
    expect(reasonOf(of({ operations: [operationWith(max - 2)] }))).to.equal('OK');
    expect(reasonOf(of({ operations: [operationWith(max - 1)] }))).to.equal('TooManyItems');
    const unknown = (count: number) => Buffer.alloc(count * 2, Buffer.from([0x78, 0x01]));
    expect(reasonOf(unknown(max))).to.equal('OK');
    expect(reasonOf(unknown(max + 1))).to.equal('TooManyItems');
  });

  it('are counted if values of one field replace each other', () => {
    const storeId = message.fields.find((field) => field.name === 'store_id')?.number ?? 0;
    const again = (count: number) => Buffer.alloc(count * 3, Buffer.from([storeId * 8 + 2, 1, 97]));
    expect(reasonOf(again(message.fields.length + max))).to.equal('OK');
    expect(reasonOf(again(message.fields.length + max + 1))).to.equal('TooManyItems');
  });

  it('are counted at every depth, among any other fields', () => {
    const shape = fc.array(fc.nat({ max: 20_000 }), { maxLength: 12 });
    fc.assert(
      fc.property(shape, fc.string({ maxLength: 9 }), (counts, storeId) => {
        const items = counts.reduce((sum, fields) => sum + 2 + fields, 0);
        const bytes = of({ storeId, operations: counts.map(operationWith) });
        expect(reasonOf(bytes)).to.equal(items > max ? 'TooManyItems' : 'OK');
      }),
      { numRuns: 20 },
    );
  });

  it('of a malformed message are refused with it, and cause no other error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 0, maxLength: 64 }), (junk) => {
        const bytes = Buffer.concat([Buffer.alloc(max * 2 + 2 - 64), junk]);
        expect(['OK', 'TooManyItems', 'MalformedMessage']).to.include(reasonOf(bytes));
      }),
    );
    const groups = Buffer.alloc(4_000_000, 0x0b);
    expect(['TooManyItems', 'MalformedMessage']).to.include(reasonOf(groups));
    // Each has one byte, the tag of a string whose length the decoder reads beyond the end.
    const overlong = Buffer.alloc(max * 8, Buffer.from([operationsTag, 1, 0x0a, 1, 0x41]));
    expect(reasonOf(overlong)).to.equal('MalformedMessage');
  });
});
