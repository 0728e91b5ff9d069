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

  it('of JSON is the same in turns, for any shape, also as two messages that merge', async function () {
    this.timeout(60_000);
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
});
