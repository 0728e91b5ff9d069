import { expect } from 'chai';
import fc from 'fast-check';
import {
  type AnyField,
  type ApiObject,
  boolean,
  declareKind,
  double,
  enumeration,
  type Fields,
  int32,
  int64,
  json,
  type Kind,
  list,
  map,
  object,
  optional,
  string,
} from 'kedge';
import { DeclaredApi } from './declared-api.js';

/** A field with possible inputs and the stored values. */
interface Sample {
  readonly field: AnyField;
  /** Values in requests; undefined: omitted. */
  readonly given: fc.Arbitrary<unknown>;
  /** The stored values. */
  readonly stored: (given: unknown) => unknown;
  /** Allowed in a list or map. */
  readonly item: boolean;
}

type Values = Readonly<Record<string, unknown>>;
const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const key = fc
  .oneof(text, fc.constantFrom('constructor', 'toString', '', 'a.b'))
  .filter((k) => k !== '__proto__');
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (n === 0 ? 0 : n));
const jsonValue = fc
  .letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.constant(null),
      fc.boolean(),
      number,
      text,
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(key, tie('any'), { maxKeys: 3 }),
    ),
  }))
  .any.filter((value) => value !== null);

type Presence = 'filled' | 'required' | 'optional' | 'default';

/** A scalar in each possible presence. */
function scalar<V>(
  make: (options: { required?: true; default?: never }) => AnyField,
  values: fc.Arbitrary<V>,
  zero: V | undefined,
  notZero: fc.Arbitrary<V> = values,
): fc.Arbitrary<Sample> {
  return fc
    .tuple(fc.constantFrom<Presence>('filled', 'required', 'optional', 'default'), notZero)
    .map(([presence, fallback]): Sample => {
      const field =
        presence === 'required'
          ? make({ required: true })
          : presence === 'default'
            ? make({ default: fallback as never })
            : presence === 'optional'
              ? optional(make({}))
              : make({});
      const absent = { filled: zero, required: zero, optional: undefined, default: fallback };
      const given = presence === 'required' ? notZero : fc.option(values, { nil: undefined });
      return {
        field,
        given,
        stored: (value) => value ?? absent[presence],
        item: presence === 'filled',
      };
    });
}

const enumValues = ['On', 'Off', 'name', 'constructor'] as const;
const leaves: readonly fc.Arbitrary<Sample>[] = [
  scalar(
    (o) => string(o),
    text,
    '',
    text.filter((t) => t !== ''),
  ),
  scalar((o) => boolean(o), fc.boolean(), false),
  scalar((o) => int32(o), fc.integer(), 0),
  scalar((o) => int64(o), fc.maxSafeInteger(), 0),
  scalar((o) => double(o), number, 0),
  scalar((o) => enumeration(enumValues, o), fc.constantFrom(...enumValues), undefined),
  fc.constant({
    field: json(),
    given: fc.option(jsonValue, { nil: undefined }),
    stored: (value: unknown) => value,
    item: true,
  }),
];

function defined(values: Values): Values {
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) if (value !== undefined) out[name] = value;
  return out;
}

function objectOf(samples: Readonly<Record<string, Sample>>): {
  readonly fields: Fields;
  readonly given: fc.Arbitrary<Values>;
  readonly stored: (given: Values) => Values;
} {
  const entries = Object.entries(samples);
  const givens: Record<string, fc.Arbitrary<unknown>> = {};
  for (const [name, { given }] of entries) givens[name] = given;
  return {
    fields: Object.fromEntries(entries.map(([name, { field }]) => [name, field])),
    given: fc.record(givens).map(defined),
    stored: (given) =>
      defined(
        Object.fromEntries(
          entries.map(([name, { stored }]): [string, unknown] => [name, stored(given[name])]),
        ),
      ),
  };
}

const { samples } = fc.letrec<{ sample: Sample; samples: Readonly<Record<string, Sample>> }>(
  (tie) => ({
    sample: fc.oneof(
      { maxDepth: 2, withCrossShrink: true },
      ...leaves,
      tie('samples').map((inner): Sample => {
        const made = objectOf(inner);
        const required = Object.values(inner).some(({ field }) => field.presence === 'required');
        return {
          field: required ? optional(object(made.fields)) : object(made.fields),
          given: fc.option(made.given, { nil: undefined }),
          stored: (value) =>
            value === undefined && required ? undefined : made.stored((value ?? {}) as Values),
          item: !required,
        };
      }),
      tie('sample')
        .filter(({ item }) => item)
        .map((of): Sample => {
          const items = fc.array(
            of.given.filter((v) => v !== undefined),
            { maxLength: 3 },
          );
          return {
            field: list(of.field),
            given: fc.option(items, { nil: undefined }),
            stored: (value) => ((value ?? []) as unknown[]).map(of.stored),
            item: false,
          };
        }),
      tie('sample')
        .filter(({ item }) => item)
        .map((of): Sample => {
          const entries = fc.dictionary(
            key,
            of.given.filter((v) => v !== undefined),
            { maxKeys: 3 },
          );
          return {
            field: map(of.field),
            given: fc.option(entries, { nil: undefined }),
            stored: (value) =>
              Object.fromEntries(
                Object.entries((value ?? {}) as Values).map(([k, v]) => [k, of.stored(v)]),
              ),
            item: false,
          };
        }),
    ),
    samples: fc.dictionary(fc.stringMatching(/^[a-z][A-Za-z0-9]{3,8}$/), tie('sample'), {
      minKeys: 1,
      maxKeys: 5,
    }),
  }),
);

/** One declaration and six objects of it. */
const cases = samples.chain((fields) => {
  const declared = objectOf(fields);
  return fc
    .array(declared.given, { minLength: 6, maxLength: 6 })
    .map((objects) => ({ fields: declared.fields, stored: declared.stored, objects }));
});

const without = ({
  metadata: _,
  labels: __,
  ...fields
}: object & { metadata?: unknown; labels?: unknown }): object => fields;
const seedOf = process.env.KEDGE_SEED;

describe('declared kinds over gRPC, REST and JSON', function () {
  this.timeout(180_000);

  it('each transport writes and reads the stored values, whatever the declaration and the input', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ fields, stored, objects }) => {
        const kind = declareKind({ kind: 'Thing', plural: 'things', scope: 'Namespaced', fields });
        // The type of the fields is not known here.
        const untyped: Kind<ApiObject> = kind;
        await using api = await DeclaredApi.start(kind);
        const { client, store } = api;
        const remote = client.resource(untyped);
        const path = '/namespaces/default/things';
        const bodies = objects.map((values, n) => ({
          namespace: 'default',
          name: `t${n % 3}`,
          ...values,
        }));
        const expected = (n: number): object => ({
          namespace: 'default',
          name: `t${n % 3}`,
          ...stored(objects[n] ?? {}),
        });
        const same = async (n: number): Promise<void> => {
          const where = { namespace: 'default', name: `t${n % 3}` };
          const inStore = await store.get(untyped, where);
          expect(without(inStore ?? {}), 'store').to.deep.equal(expected(n));
          expect(without((await remote.get(where)) ?? {}), 'gRPC').to.deep.equal(expected(n));
          const rest = await api.rest('GET', `${path}/${where.name}`);
          expect(without(rest.body), 'REST').to.deep.equal(expected(n));
        };
        await remote.create(bodies[0] as never);
        const made = await api.rest('POST', path, bodies[1]);
        expect(made.status, JSON.stringify(made.body)).to.be.within(200, 201);
        await store.create(untyped, bodies[2] as never);
        for (const n of [0, 1, 2]) await same(n);
        // Writing back the read object changes nothing.
        for (const n of [0, 1, 2]) {
          const where = { namespace: 'default', name: `t${n}` };
          const read = await remote.get(where);
          const put = await api.rest(
            'PUT',
            `${path}/t${n}`,
            (await api.rest('GET', `${path}/t${n}`)).body,
          );
          const again = await remote.update(read!);
          const { resourceVersion } = read!.metadata;
          expect((put.body.metadata as { resourceVersion: string }).resourceVersion).to.equal(
            resourceVersion,
          );
          expect(again.metadata.resourceVersion).to.equal(resourceVersion);
        }
        // Each changed over another transport.
        expect((await api.rest('PUT', `${path}/t0`, bodies[3])).status).to.equal(200);
        const { metadata } = (await store.get(untyped, { namespace: 'default', name: 't1' }))!;
        await store.update(untyped, { ...bodies[4], metadata } as never);
        const last = await remote.get({ namespace: 'default', name: 't2' });
        await remote.update({ ...bodies[5], metadata: last!.metadata } as never);
        for (const n of [3, 4, 5]) await same(n);
        const all = [3, 4, 5].map(expected);
        expect((await store.list(untyped)).items.map(without)).to.deep.equal(all);
        expect((await remote.list()).items.map(without)).to.deep.equal(all);
        const listed = (await api.rest('GET', path)).body.items as object[];
        expect(listed.map(without)).to.deep.equal(all);
        const stop = new AbortController();
        const seen = new Map<string, object>();
        for await (const { events, revision } of remote.watch({
          fromRevision: 0,
          signal: stop.signal,
        })) {
          for (const { object: changed } of events) seen.set(changed.name, without(changed));
          if (revision >= store.revision) stop.abort();
        }
        expect([...seen.values()]).to.have.deep.members(all);
      }),
      { numRuns: 60, ...(seedOf === undefined ? {} : { seed: Number(seedOf) }) },
    );
  });
});
