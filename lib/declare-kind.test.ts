import { expect } from 'chai';
import {
  boolean,
  type Condition,
  conditions,
  dateTime,
  declareKind,
  double,
  enumeration,
  int32,
  int64,
  json,
  type Kind,
  list,
  map,
  MemoryEngine,
  object,
  type ObjectOf,
  openStore,
  optional,
  type StatusOf,
  string,
  withOptions,
} from './index.js';

type Equal<A, B> =
  (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
const proven = <_T extends true>(): void => undefined;

const lamps = declareKind({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Namespaced',
  fields: {
    on: boolean(),
    room: string({ required: true, format: 'dns-label', immutable: true }),
    watts: int32({ default: 60, minimum: 1, maximum: 500 }),
    dim: optional(double({ minimum: 0, maximum: 1 })),
    bytes: int64(),
    tags: list(string()),
    parts: list(object({ name: string({ required: true }), spare: boolean() })),
    colours: map(object({ red: int32(), names: list(string()) })),
    mount: optional(object({ wall: string(), height: int32({ default: 2 }) })),
    socket: object({ type: enumeration(['E14', 'E27'], { default: 'E27' }) }),
    mode: enumeration(['Steady', 'Blinking']),
    extra: json(),
    since: dateTime(),
  },
  status: { lit: boolean(), conditions: conditions() },
  indexes: { tag: (lamp) => lamp.tags.map((tag) => tag.toLowerCase()) },
});
type Lamp = ObjectOf<typeof lamps>;

const refusal = (work: () => unknown): string => {
  try {
    work();
    return '';
  } catch (error) {
    expect(error).to.be.instanceOf(TypeError);
    return String(error);
  }
};
const declared = (fields: Parameters<typeof object>[0]): string =>
  refusal(() => declareKind({ kind: 'X', plural: 'xs', scope: 'Cluster', fields }));

describe('a declared kind', () => {
  it('has the object type, with required and optional fields', () => {
    proven<Equal<Lamp['on'], boolean>>();
    proven<Equal<Lamp['tags'], readonly string[]>>();
    proven<Equal<Lamp['parts'], readonly { readonly name: string; readonly spare: boolean }[]>>();
    proven<Equal<Lamp['socket'], { readonly type: 'E14' | 'E27' }>>();
    proven<Equal<Pick<Lamp, 'mode'>, { readonly mode?: 'Steady' | 'Blinking' }>>();
    proven<Equal<Pick<Lamp, 'dim'>, { readonly dim?: number }>>();
    proven<Equal<Lamp['namespace'], string>>();
    proven<
      Equal<
        StatusOf<typeof lamps>,
        { readonly lit: boolean; readonly conditions: readonly Condition[] }
      >
    >();
    const kind: Kind<Lamp, 'lit' | 'conditions', 'tag'> = lamps;
    expect(kind.statusFields).to.deep.equal(['lit', 'conditions']);
    expect(lamps.immutableFields).to.deep.equal(['room']);
  });

  it('an object is stored with all fields: defaults, zero values, empty lists and maps, also nested ones', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const made = await store.create(lamps, {
      namespace: 'default',
      name: 'hall',
      room: 'hall',
      parts: [{ name: 'bulb' }],
      colours: { warm: { red: 255 } },
      mount: {},
    });
    const { metadata: _, ...fields } = made;
    expect(fields).to.deep.equal({
      namespace: 'default',
      name: 'hall',
      room: 'hall',
      on: false,
      watts: 60,
      bytes: 0,
      tags: [],
      parts: [{ name: 'bulb', spare: false }],
      colours: { warm: { red: 255, names: [] } },
      mount: { wall: '', height: 2 },
      socket: { type: 'E27' },
      lit: false,
      conditions: [],
    });
    const changed = await store.update(lamps, { ...made, watts: 5 });
    expect(changed.metadata.generation).to.equal(2);
    const lit = await store.updateStatus(lamps, made, { lit: true });
    expect(lit).to.deep.include({ lit: true, watts: 5, conditions: [] });
  });

  it('an empty list and an absent one are stored, listed, watched and indexed alike', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const where = { namespace: 'default', room: 'hall' };
    const absent = await store.create(lamps, { ...where, name: 'absent' });
    const empty = await store.create(lamps, { ...where, name: 'empty', tags: [] });
    expect([absent.tags, empty.tags]).to.deep.equal([[], []]);
    expect(lamps.indexes.tag?.(absent)).to.deep.equal([]);
    const { items } = await store.list(lamps);
    expect(items.map(({ tags }) => tags)).to.deep.equal([[], []]);
    // For callers that bypass the types: null counts as absent.
    const { tags: _, ...bare } = empty;
    const again = await store.update(lamps, { ...bare, tags: null } as unknown as Lamp);
    expect(again.metadata.resourceVersion).to.equal(empty.metadata.resourceVersion);
  });

  it('is checked by the types', () => {
    const wrong = (store: Awaited<ReturnType<typeof openStore>>, lamp: Lamp): void => {
      const where = { namespace: 'default', name: 'x' };
      // @ts-expect-error a lamp needs a room
      void store.create(lamps, where);
      // @ts-expect-error a part needs a name
      void store.create(lamps, { ...where, room: 'a', parts: [{ spare: true }] });
      // @ts-expect-error no such mode
      void store.create(lamps, { ...where, room: 'a', mode: 'Off' });
      // @ts-expect-error no namespace
      void store.create(lamps, { name: 'x', room: 'a' });
      // @ts-expect-error tags are not status
      void store.updateStatus(lamps, where, { tags: [] });
      // @ts-expect-error an update gives the whole object
      void store.update(lamps, { ...where, metadata: lamp.metadata, room: 'a' });
      // @ts-expect-error read-only, at every depth
      lamp.parts[0]!.name = 'x';
      // @ts-expect-error may be absent
      void lamp.mode.length;
    };
    expect(wrong).to.be.a('function');
  });

  it('a declaration that cannot be served is refused at once, with the remedy', () => {
    expect(declared({ name: string() })).to.contain('every object has a name');
    expect(declared({ Big: string() })).to.contain('camelCase');
    expect(declared({ constructor: string() })).to.contain('camelCase');
    expect(declared({ few: int32({ minimum: 1 }) })).to.contain('make it required, give a default');
    expect(declared({ few: int32({ minimum: 1, default: 0 }) })).to.contain('default 0');
    expect(declared({ far: int32({ maximum: 2 ** 40 }) })).to.contain('X.far: the range');
    expect(declared({ deep: object({ a: enumeration([]) }) })).to.contain(
      'X.deep.a: an enumeration',
    );
    expect(declared({ a: string({ number: 7 }), b: string({ number: 7 }) })).to.contain(
      'X.b: has the same protobuf number as a (7)',
    );
    expect(declared({ a: string({ number: 3 }) })).to.contain('number 3');
    expect(declared({ a: string({ number: 19_500 }) })).to.contain('number 19500');
    expect(declared({ a: list(list(string())) })).to.contain("a list can't be a list item");
    expect(declared({ a: map(list(string())) })).to.contain("a list can't be a map value");
    expect(declared({ a: list(string({ required: true })) })).to.contain(
      'no meaning for a list item',
    );
    expect(declared({ a: map(string({ required: true })) })).to.contain(
      'no meaning for a map value',
    );
    const pattern = (text: string): string =>
      declared({ a: string({ pattern: text, maxLength: 100 }) });
    expect(pattern('^a{1,60}b{1,60}|^c$')).to.equal('');
    expect(pattern('^a{1,60}b{1,60}|^c|d$')).to.contain('can be tried in');
    expect(declared({ a: list(object({ b: string({ immutable: true }) })) })).to.contain(
      "can't be immutable",
    );
    expect(refusal(() => optional(string({ required: true })))).to.contain('never absent');
    const both = { a: string() };
    expect(
      refusal(() =>
        declareKind({ kind: 'X', plural: 'xs', scope: 'Cluster', fields: both, status: both }),
      ),
    ).to.contain('declared in fields and in status');
  });

  it('a field with other options keeps its explicit presence, unless it is never absent now', () => {
    const mode = optional(enumeration(['On', 'Off']));
    expect(withOptions(mode, { number: 101 })).to.include({ explicit: true, presence: 'optional' });
    expect(withOptions(mode, { default: 'On' })).to.not.have.property('explicit');
    expect(withOptions(enumeration(['On']), { number: 101 })).to.not.have.property('explicit');
  });

  it('a declaration is bounded in depth, so that a kind cannot contain itself, and in fields', () => {
    const loop: Record<string, ReturnType<typeof string>> = {};
    loop.self = object(loop) as never;
    expect(declared(loop)).to.contain("a kind can't contain itself");
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`f${n}`, string()]));
    expect(declared(many)).to.contain('more than 1000 fields');
  });

  it('a pattern that could be slow is refused, even a linear one on long text', () => {
    const pattern = (text: string, maxLength?: number): string =>
      declared({ a: string({ pattern: text, ...(maxLength ? { maxLength } : {}) }) });
    for (const slow of ['^(a+)+$', '^(a|a)*$', '^([a-z]*\\.)*$', '(?=a)b', '^(a)\\1$', '^(a?){9}$'])
      expect(pattern(slow, 100), slow).to.not.equal('');
    expect(pattern('^a*a*a*a*$', 100)).to.contain('ways');
    expect(pattern('^a?'.padEnd(2 + 2 * 30, 'a?'), 100)).to.contain('ways');
    expect(pattern('^a$')).to.contain('needs maxLength');
    expect(pattern('(', 5)).to.contain('X.a: pattern (');
    for (const fine of [
      '^[a-z]([-a-z0-9]*[a-z0-9])?$',
      '^v\\d+\\.\\d+$',
      '^[0-9a-f]{8}-[0-9a-f]{4}$',
      '^(on|off)$',
    ])
      expect(pattern(fine, 63), fine).to.equal('');
  });
});
