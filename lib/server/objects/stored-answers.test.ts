import { expect } from 'chai';
import fc from 'fast-check';
import { limits, systemClock } from '../../base/index.js';
import {
  type ApiObject,
  boolean,
  declareKind,
  double,
  enumeration,
  int32,
  int64,
  json,
  list,
  map,
  object,
  optional,
  string,
} from '../../object/index.js';
import { type JsonObject, methodTable, present } from '../../rpc/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import type { CallContext } from '../api/call.js';
import { describeKinds } from '../api/describe-kinds.js';
import type { ServedKind } from '../api/served-kind.js';
import { AnswerEncoder } from '../grpc/answers.js';
import { encodeList } from '../transport/list-encoding.js';
import { ResourceReads, type ResourceReadsOptions } from './resource-reads.js';

const inner = { text: string(), count: optional(int32()), deep: list(object({ on: boolean() })) };
const fields = {
  text: string(),
  maybe: optional(string()),
  twoWords: string(),
  count: int32(),
  long: int64(),
  ratio: double(),
  on: boolean(),
  level: enumeration(['LOW', 'HIGH']),
  names: list(string()),
  numbers: list(int32()),
  rooms: map(string()),
  inner: object(inner),
  inners: list(object(inner)),
};
const things = declareKind({ kind: 'Thing', plural: 'things', scope: 'Namespaced', fields });
const freeThings = declareKind({
  kind: 'FreeThing',
  plural: 'freethings',
  scope: 'Namespaced',
  fields: { text: string(), free: json() },
});
const { schemas, packageName } = describeKinds('things.v1', [things, freeThings]);
const methods = methodTable(schemas, packageName, [things, freeThings]);
const method = (kind: string, verb: string) =>
  methods.find(({ standard }) => standard?.kind?.kind === kind && standard.verb === verb)!;
const messageOf = (kind: string) => schemas.message(`${packageName}.${kind}`);

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('', 'ä', 'x'.repeat(200)),
);
const anything = fc.oneof(
  texts,
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant([]),
  fc.constant({}),
);
const innerValues = fc.record(
  {
    text: texts,
    count: fc.integer({ min: -5, max: 300 }),
    deep: fc.array(fc.record({ on: fc.boolean(), gone: texts }), { maxLength: 2 }),
    unknown: anything,
  },
  { requiredKeys: [] },
);
/** Stored fields, also of an earlier schema: some are missing, some are unknown, and some have another type. */
const storedFields = fc.record(
  {
    text: texts,
    maybe: texts,
    count: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    long: fc.integer({ min: -1, max: 2 ** 50 }),
    ratio: fc.double({ noNaN: true, noDefaultInfinity: true }),
    on: fc.boolean(),
    level: fc.constantFrom('LOW', 'HIGH'),
    names: fc.oneof(fc.array(texts, { maxLength: 3 }), anything),
    numbers: fc.array(fc.integer({ min: -3, max: 1_000 }), { maxLength: 3 }),
    rooms: fc.dictionary(texts, texts, { maxKeys: 3 }),
    inner: fc.oneof(innerValues, anything),
    inners: fc.array(innerValues, { maxLength: 2 }),
    unknown: anything,
    '[x.y]': anything,
    two_words: texts,
  },
  { requiredKeys: [] },
);
const attempt = (make: () => Uint8Array): string => {
  try {
    return Buffer.from(make()).toString('hex');
  } catch (error) {
    return String(error);
  }
};

describe('answers with objects as they are stored', () => {
  it('have the bytes of answers with their form in the API', () => {
    const { output } = method('Thing', 'Watch');
    fc.assert(
      fc.property(fc.array(storedFields, { maxLength: 3 }), texts, (found, resourceVersion) => {
        const answer = (form: (stored: JsonObject) => JsonObject): JsonObject => ({
          events: found.map((stored) => ({ type: 'MODIFIED', object: form(stored) })),
          resourceVersion,
        });
        const shown = answer((stored) => present(messageOf('Thing'), stored));
        expect(
          attempt(() =>
            schemas.encodeStored(
              output,
              answer((stored) => stored),
            ),
          ),
        ).to.equal(attempt(() => schemas.encode(output, shown)));
      }),
      { numRuns: 500 },
    );
  });

  describe('of a store', () => {
    let store: ObjectStore;
    const stop = new AbortController();
    const context = {
      transport: 'grpc',
      signal: stop.signal,
      identity: {},
    } as unknown as CallContext;
    const mask = (found: ApiObject): ApiObject => ({ ...found, text: '******' }) as ApiObject;

    beforeEach(async () => {
      store = await openStore({ engine: new MemoryEngine() });
    });
    afterEach(() => store.close());

    function readsOf(kind: ServedKind['kind'], rules: object) {
      const admission = { message: () => messageOf(kind.kind) };
      const planner = { requireAccess: () => undefined };
      const options = { store, admission, planner, clock: systemClock };
      const reads = new ResourceReads(options as unknown as ResourceReadsOptions);
      return { reads, served: { kind, rules } as unknown as ServedKind };
    }

    async function listed(kind: ServedKind['kind'], rules: object): Promise<Buffer> {
      const { reads, served } = readsOf(kind, rules);
      const answer = await reads.list(served, context, {}, true);
      const { output } = method(kind.kind, 'List');
      return encodeList(schemas, output, answer, answer.items as JsonObject[], systemClock);
    }

    for (const kind of [things, freeThings])
      it(`list all objects in parts: ${kind.plural}`, async () => {
        for (let n = 0; n < 70; n += 1) {
          const extra = kind === freeThings ? { free: { n: [n, null] } } : { count: n, on: true };
          const made = { namespace: 'default', name: `n-${n}`, ...extra };
          await store.create(kind as typeof things, made);
        }
        const { reads, served } = readsOf(kind, {});
        const { output } = method(kind.kind, 'List');
        const shown = await reads.list(served, context, {}, false);
        const bytes = await listed(kind, {});
        expect(schemas.decode(output, bytes)).to.deep.equal(
          schemas.decode(output, schemas.encode(output, shown)),
        );
      });

    it('keep few bytes of objects that were read and replaced', async function () {
      if (!globalThis.gc) return this.skip();
      const { reads, served } = readsOf(things, {});
      const key = { namespace: 'default', name: 'large' };
      let stored: ApiObject = await store.create(things, { ...key, text: '' });
      const alive: WeakRef<ApiObject>[] = [];
      for (let n = 0; n < 150; n += 1) {
        stored = await store.update(things, { ...stored, text: `${n}`.padEnd(1_000_000) } as never);
        await reads.get(served, context, key);
        alive.push(new WeakRef(stored));
      }
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
      globalThis.gc();
      // A part of them is kept for watchers.
      const kept = alive.filter((one) => one.deref()).length;
      expect(kept * 1_000_000).to.be.below(limits.watchRingBytes + 2 * 33_554_432);
    });

    it('mask values that the caller may not see, in lists, initial states and events', async () => {
      const secret = 'the-secret-text';
      const create = (name: string) =>
        store.create(things, { namespace: 'default', name, text: secret });
      for (let n = 0; n < 3; n += 1) await create(`n-${n}`);
      const bytes = await listed(things, { present: mask });
      expect(bytes.includes('******')).to.equal(true);
      expect(bytes.includes(secret)).to.equal(false);
      const { reads, served } = readsOf(things, { present: mask });
      const encoder = new AnswerEncoder(schemas);
      let masked = 0;
      for await (const answer of reads.watch(served, context, {})) {
        const sent = encoder.encode(method('Thing', 'Watch'), answer);
        expect(sent.includes(secret)).to.equal(false);
        if (sent.includes('******')) masked += 1;
        if ((answer.events as unknown[]).length === 0) await create('late');
        if (masked === 2) break;
      }
      expect(masked).to.equal(2);
    });
  });
});
