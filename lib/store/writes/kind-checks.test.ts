import { expect } from 'chai';
import fc from 'fast-check';
import { hasCode, type StatusError } from '../../base/index.js';
import { type ApiObject, defineKind, kindOf, namespaceIndex } from '../../object/index.js';
import { FakeClock } from '../../testing/index.js';
import { type EmbeddedStore, type KindCheck, MemoryEngine, openStore } from '../index.js';

interface Disk extends ApiObject {
  readonly tags: readonly string[];
  readonly node?: string;
}
const disks = kindOf<Disk>()({
  kind: 'Disk',
  plural: 'disks',
  scope: 'Namespaced',
  statusFields: ['node'],
  rarelyWritten: true,
  indexes: {
    tag: ({ tags }) => tags,
    node: ({ node }) => (node === undefined ? [] : [node]),
  },
});
const tapes = kindOf<ApiObject>()({
  kind: 'Tape',
  plural: 'tapes',
  scope: 'Namespaced',
  statusFields: [],
  rarelyWritten: true,
});
/** The kind before it had indexes. */
const plainDisks = defineKind<Disk>({
  kind: 'Disk',
  plural: 'disks',
  scope: 'Namespaced',
  statusFields: ['node'],
});

async function refusal(promise: Promise<unknown>): Promise<StatusError | undefined> {
  const error = await promise.then(
    () => undefined,
    (e: unknown) => e,
  );
  if (error !== undefined) expect(hasCode(error, 'Aborted')).to.equal(true);
  return error as StatusError | undefined;
}

/** One change in the history of the model. Unlike the store, the model keeps all changes. */
interface Happened {
  readonly revision: number;
  readonly kind: string;
  readonly namespace: string;
  readonly statusOnly: boolean;
  readonly before: Disk | undefined;
  readonly after: Disk | undefined;
}
const valuesIn = (index: string, disk: Disk | undefined): readonly string[] =>
  !disk ? [] : index === 'tag' ? disk.tags : disk.node === undefined ? [] : [disk.node];

function counts(happened: Happened, { kind, revision, index, value }: KindCheck): boolean {
  const { statusOnly, before, after } = happened;
  if (happened.revision <= revision || happened.kind !== kind.kind) return false;
  if (index === undefined) return !statusOnly;
  if (index === namespaceIndex) return !statusOnly && happened.namespace === value;
  const was = valuesIn(index, before).includes(value);
  const is = valuesIn(index, after).includes(value);
  return statusOnly ? was !== is : was || is;
}

const namespaces = ['here', 'there'];
const tags = ['red', 'blue', 'green'];
const nodes = ['n1', 'n2'];
const name = fc.constantFrom('a', 'b');
const namespace = fc.constantFrom(...namespaces);
const someTags = fc.subarray(tags);
const step = fc.oneof(
  fc.record({ op: fc.constant('write' as const), name, namespace, tags: someTags }),
  fc.record({
    op: fc.constant('status' as const),
    name,
    namespace,
    node: fc.constantFrom(...nodes),
  }),
  fc.record({
    op: fc.constant('both' as const),
    name,
    namespace,
    tags: someTags,
    node: fc.constantFrom(...nodes),
  }),
  fc.record({
    op: fc.constant('label' as const),
    name,
    namespace,
    text: fc.constantFrom('x', 'y'),
  }),
  fc.record({ op: fc.constant('delete' as const), name, namespace }),
  fc.record({ op: fc.constant('tape' as const), name, namespace }),
  fc.record({ op: fc.constant('read' as const) }),
  fc.record({ op: fc.constant('settle' as const) }),
  fc.record({ op: fc.constant('reopen' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A store, and a model with its whole history. */
class Subject {
  readonly engine = new MemoryEngine();
  store!: EmbeddedStore;
  readonly history: Happened[] = [];
  readonly objects = new Map<string, Disk>();
  /** Revisions of reads. */
  reads: number[] = [0];
  assigned = 0;
  opened = 0;
  readonly writes: Promise<unknown>[] = [];

  async open(): Promise<void> {
    this.store = await openStore({ engine: this.engine });
    this.opened = this.store.revision;
    await this.store.list(disks);
  }

  #note(kind: string, id: string, after: Disk | undefined, statusOnly = false): void {
    this.assigned += 1;
    const before = this.objects.get(id);
    const [where = ''] = id.split('/');
    if (kind === 'Disk') {
      if (after) this.objects.set(id, after);
      else this.objects.delete(id);
    }
    this.history.push({
      revision: this.assigned,
      kind,
      namespace: where,
      statusOnly,
      before,
      after,
    });
  }

  /** Executes a step; the writes are not awaited. */
  async apply(step: Step): Promise<void> {
    const { store } = this;
    if (step.op === 'read') {
      this.reads.push((await store.list(disks)).revision);
      return;
    }
    if (step.op === 'settle' || step.op === 'reopen') {
      await Promise.all(this.writes);
      if (step.op === 'settle') return;
      await store.close();
      return this.open();
    }
    const key = { namespace: step.namespace, name: step.name };
    const id = `${key.namespace}/${key.name}`;
    if (step.op === 'tape') {
      const tape = `${step.name}${this.assigned}`;
      this.writes.push(store.create(tapes, { ...key, name: tape }));
      this.#note('Tape', `${key.namespace}/${tape}`, undefined);
      return;
    }
    const before = this.objects.get(id);
    if (step.op === 'write' && !before) {
      this.writes.push(store.create(disks, { ...key, tags: step.tags }));
      this.#note('Disk', id, { ...key, tags: step.tags } as unknown as Disk);
      return;
    }
    if (!before) return;
    switch (step.op) {
      case 'write':
      case 'label': {
        const tags = step.op === 'write' ? step.tags : before.tags;
        const labels = step.op === 'label' ? { text: step.text } : before.labels;
        const changed = { ...key, tags, ...(labels ? { labels } : {}) };
        this.writes.push(store.overwrite(disks, changed));
        const same = String(tags) === String(before.tags) && labels?.text === before.labels?.text;
        if (!same) this.#note('Disk', id, { ...before, ...changed });
        return;
      }
      case 'status':
        this.writes.push(store.updateStatus(disks, key, { node: step.node }));
        if (before.node !== step.node) this.#note('Disk', id, { ...before, node: step.node }, true);
        return;
      case 'both': {
        const object = {
          ...key,
          tags: step.tags,
          ...(before.labels ? { labels: before.labels } : {}),
        };
        this.writes.push(
          store.transact([
            { op: 'updateStatus', kind: disks, key, status: { node: step.node } },
            { op: 'overwrite', kind: disks, object },
          ]),
        );
        const moved = before.node !== step.node;
        const written = String(step.tags) !== String(before.tags);
        if (moved || written)
          this.#note('Disk', id, { ...before, ...object, node: step.node }, !written);
        return;
      }
      case 'delete':
        this.writes.push(store.deleteByName(disks, key));
        this.#note('Disk', id, undefined);
    }
  }

  /** All checks of all revisions that were read. */
  checks(): readonly KindCheck[] {
    return this.reads.flatMap((revision): readonly KindCheck[] => [
      { op: 'checkKind', kind: disks, revision },
      { op: 'checkKind', kind: tapes, revision },
      ...namespaces.map(
        (value) =>
          ({ op: 'checkKind', kind: disks, revision, index: namespaceIndex, value }) as const,
      ),
      ...tags.map(
        (value) => ({ op: 'checkKind', kind: disks, revision, index: 'tag', value }) as const,
      ),
      ...nodes.map(
        (value) => ({ op: 'checkKind', kind: disks, revision, index: 'node', value }) as const,
      ),
    ]);
  }
}

describe('checks of a kind', () => {
  it('have the result of a model that scans the whole history, also against pending writes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const subject = new Subject();
        await subject.open();
        for (const one of steps) {
          // The last revisions that could have been read.
          const { revision } = subject.store;
          subject.reads = [...new Set([...subject.reads, revision])].slice(-4);
          await subject.apply(one);
          const checks = subject.checks();
          const verdicts = await Promise.all(
            checks.map((check) => refusal(subject.store.transact([check]))),
          );
          for (const [at, check] of checks.entries()) {
            const old = check.revision < subject.opened;
            const changed = subject.history.some((happened) => counts(happened, check));
            const what = `${check.kind.kind} ${check.index} ${check.value} since ${check.revision}`;
            expect(verdicts[at] !== undefined, what).to.equal(old || changed);
          }
        }
        await Promise.all(subject.writes);
        for (const [index, values] of [
          ['tag', tags],
          ['node', nodes],
        ] as const)
          for (const value of values) {
            const { items } = await subject.store.list(disks, { index, value });
            const found = items.map((disk) => `${disk.namespace}/${disk.name}`);
            const expected = [...subject.objects]
              .filter(([, disk]) => valuesIn(index, disk).includes(value))
              .map(([id]) => id);
            expect(found).to.deep.equal(expected.sort());
          }
        await subject.store.close();
      }),
      { numRuns: 60 },
    );
  }).timeout(180_000);

  it('detect the expiry of objects, which the store deletes itself', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const { revision } = await store.list(disks);
    const expiresAt = new Date(0).toISOString();
    const made = { namespace: 'here', name: 'a', tags: ['red'], metadata: { expiresAt } };
    await store.create(disks, made);
    const stop = new AbortController();
    for await (const { events } of store.watch(disks, {
      fromRevision: revision,
      signal: stop.signal,
    }))
      if (events.some(({ type }) => type === 'DELETED')) stop.abort();
    const since = { op: 'checkKind', kind: disks, index: 'tag', value: 'red' } as const;
    const outdated = store.transact([{ ...since, revision: revision + 1 }]);
    expect(await refusal(outdated)).to.not.equal(undefined);
    expect((await store.list(disks, { index: 'tag', value: 'red' })).items).to.deep.equal([]);
    await store.close();
  });

  it('of an unknown index are refused for earlier reads', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    await store.create(plainDisks, { namespace: 'here', name: 'a', tags: ['red'] });
    const check = {
      op: 'checkKind',
      kind: disks,
      revision: 0,
      index: 'tag',
      value: 'blue',
    } as const;
    const error = await refusal(store.transact([check]));
    expect(error?.message).to.match(/known only from revision 1 on; read it again/);
    await store.transact([{ ...check, revision: 1 }]);
    await store.close();
  });

  it('detect a change outside of status, also after a status write in the same transaction', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const key = { namespace: 'here', name: 'a' };
    const disk = await store.create(disks, { ...key, tags: ['red'] });
    const changed: Disk = { ...disk, tags: ['red', 'blue'] };
    const { revision } = await store.list(disks);
    await store.transact([
      { op: 'updateStatus', kind: disks, key, status: { node: 'n1' } },
      { op: 'overwrite', kind: disks, object: changed },
    ]);
    const check = { op: 'checkKind', kind: disks, revision } as const;
    expect(await refusal(store.transact([check]))).to.not.equal(undefined);
    await store.close();
  });

  it('objects for which an index function throws are reported by lists, and can be corrected and deleted', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const broken = { namespace: 'here', name: 'a', metadata: { finalizers: ['x/one'] } };
    await store.create(plainDisks, broken as never);
    await store.create(plainDisks, { namespace: 'here', name: 'b', tags: ['red'] });
    const red = { index: 'tag', value: 'red' } as const;
    const failed = await store.list(disks, red).catch((e: unknown) => e);
    expect(hasCode(failed, 'FailedPrecondition') && failed.reason).to.equal('IndexIncomplete');
    expect(String(failed)).to.match(/index "tag".*"here\/a"/);
    const { revision } = await store.list(disks);
    const check = { op: 'checkKind', kind: disks, revision, ...red } as const;
    await store.transact([check]);
    await store.updateStatus(disks, { namespace: 'here', name: 'a' }, { node: 'n1' });
    expect(await refusal(store.transact([check]))).to.not.equal(undefined);
    await store.deleteByName(disks, { namespace: 'here', name: 'a' });
    await store.overwrite(disks, {
      namespace: 'here',
      name: 'a',
      tags: [],
      metadata: { finalizers: [] },
    });
    expect((await store.list(disks, red)).items.map(({ name }) => name)).to.deep.equal(['b']);
    await store.close();
  });

  it('continue after a failed write, without older history', async () => {
    const clock = new FakeClock();
    const engine = new MemoryEngine();
    const store = await openStore({ engine, clock });
    await store.create(disks, { namespace: 'here', name: 'a', tags: ['red'] });
    const { revision } = await store.list(disks, { index: 'tag', value: 'red' });
    const append = engine.append.bind(engine);
    engine.append = () => Promise.reject(new Error('disk on fire'));
    const lost = store.create(disks, { namespace: 'here', name: 'b', tags: ['red'] });
    expect(hasCode(await lost.catch((e: unknown) => e), 'Unavailable')).to.equal(true);
    engine.append = append;
    for (let waits = 0; waits < 100 && store.health().state !== 'serving'; waits += 1)
      await clock.advance(1_000);
    expect(store.health().state).to.equal('serving');
    // The lost write was not executed: a check of an earlier read holds.
    const check = { op: 'checkKind', kind: disks, revision, index: 'tag', value: 'red' } as const;
    await store.transact([check, { ...check, value: 'blue' }]);
    expect((await store.list(disks, { index: 'tag', value: 'red' })).items).to.have.length(1);
    await store.create(disks, { namespace: 'here', name: 'c', tags: ['red'] });
    expect(await refusal(store.transact([check]))).to.not.equal(undefined);
    const old = await refusal(
      store.transact([{ ...check, revision: revision - 1, value: 'blue' }]),
    );
    expect(old).to.not.equal(undefined);
    await store.close();
  });

  it('a list by index reads the objects of its value only', async () => {
    let asked = 0;
    const counted = kindOf<Disk>()({
      kind: 'Disk',
      plural: 'disks',
      scope: 'Namespaced',
      statusFields: ['node'],
      indexes: {
        tag: ({ tags }) => {
          asked += 1;
          return tags;
        },
      },
    });
    const engine = new MemoryEngine();
    const first = await openStore({ engine });
    for (let n = 0; n < 200; n += 1)
      await first.create(counted, {
        namespace: 'here',
        name: `d${n}`,
        tags: n === 7 ? ['red'] : [],
      });
    await first.close();
    const store = await openStore({ engine });
    asked = 0;
    await Promise.all([1, 2].map(() => store.list(counted, { index: 'tag', value: 'red' })));
    expect(asked).to.equal(200);
    const { items } = await store.list(counted, { index: 'tag', value: 'red' });
    expect([items.length, asked]).to.deep.equal([1, 200]);
    await store.close();
  });
});
