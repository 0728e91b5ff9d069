import { expect } from 'chai';
import { type ApiObject, defineKind, formatCursor, parseCursor } from '../../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { watchResource } from './resource-watch.js';
import { type ServerSentEvent, watchEvents } from '../rest/sse.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});
const count = 1_200;

describe('watch without a version, over the wire', () => {
  it('streams the present state in parts, ends it with the version to resume at, and continues live', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    for (let n = 0; n < count; n += 1) await store.create(lamps, { name: `lamp-${n}` });
    const stop = new AbortController();
    const answers = watchResource(store, lamps, {
      namespace: undefined,
      resourceVersion: '',
      selector: undefined,
      signal: stop.signal,
      convert: ({ type, object }) => ({ type, object }),
    });
    const seen: ServerSentEvent[] = [];
    for await (const answer of answers) {
      seen.push(...watchEvents(answer));
      if (seen.at(-1)?.event === 'BOOKMARK') await store.create(lamps, { name: 'late' });
      if (seen.length === count + 2) break;
    }
    stop.abort();
    const initial = seen.slice(0, count);
    expect(initial.every((event) => event.event === 'ADDED' && event.id === undefined)).to.equal(
      true,
    );
    expect(seen[count]).to.include({ event: 'BOOKMARK', id: formatCursor(count, store.storeId) });
    expect(seen[count + 1]).to.include({
      event: 'ADDED',
      id: formatCursor(count + 1, store.storeId),
    });
  });

  it('sends no message with many large objects, even if they are cached', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const labels = { text: 'x'.repeat(20_000) };
    for (let n = 0; n < 40; n += 1) await store.create(lamps, { name: `lamp-${n}`, labels });
    for (const { labels: read } of (await store.list(lamps)).items)
      expect(read).to.deep.equal(labels);
    const stop = new AbortController();
    const counts: number[] = [];
    for await (const answer of watchResource(store, lamps, {
      namespace: undefined,
      resourceVersion: '',
      selector: undefined,
      signal: stop.signal,
      convert: ({ type, object }) => ({ type, object }),
    })) {
      const { events, resourceVersion } = answer as unknown as WatchAnswer;
      counts.push(events.length);
      if (resourceVersion !== '') stop.abort();
    }
    expect(Math.max(...counts)).to.be.at.most(2);
  });

  it('sends no message with more than a part of a batch', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    for (let n = 0; n < count; n += 1) await store.create(lamps, { name: `lamp-${n}` });
    const stop = new AbortController();
    const sizes: number[] = [];
    for await (const answer of watchResource(store, lamps, {
      namespace: undefined,
      resourceVersion: '',
      selector: undefined,
      signal: stop.signal,
      convert: ({ type, object }) => ({ type, object }),
    })) {
      const { events, resourceVersion } = answer as unknown as WatchAnswer;
      sizes.push(events.length);
      if (resourceVersion !== '') stop.abort();
    }
    expect(sizes.at(-1)).to.equal(0);
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.equal(count);
    expect(Math.max(...sizes)).to.be.lessThan(500);
    expect(sizes.length).to.be.greaterThan(3);
  });
});

describe('watch of changes, over the wire', () => {
  it('delivers each transaction in one answer, also one that exceeds the size of answers', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const labels = { text: 'x'.repeat(1_000) };
    const sizes = [100, 1, 1, 100];
    for (const [transaction, size] of sizes.entries())
      await store.transact(
        Array.from({ length: size }, (_, n) => {
          const object = { name: `lamp-${transaction}-${n}`, labels };
          return { op: 'create' as const, kind: lamps, object };
        }),
      );
    const answers: (readonly [count: number, cursor: string])[] = [];
    for await (const answer of watchResource(store, lamps, {
      namespace: undefined,
      resourceVersion: '0',
      selector: undefined,
      signal: new AbortController().signal,
      convert: ({ type, object }) => ({ type, object }),
    })) {
      const { events, resourceVersion } = answer as unknown as WatchAnswer;
      answers.push([events.length, resourceVersion]);
      if (parseCursor(resourceVersion).revision === store.revision) break;
    }
    const cursor = (revision: number): string => formatCursor(revision, store.storeId);
    expect(answers).to.deep.equal([
      [100, cursor(1)],
      [102, cursor(4)],
    ]);
  });
});

describe('watch of a caller with access to some objects', () => {
  const hers = (object: ApiObject): boolean => object.labels?.owner === 'ann';

  /** The events that she gets after `fromRevision`, and the objects that she has in the end. */
  async function received(
    store: ObjectStore,
    fromRevision: number,
  ): Promise<{ readonly lines: readonly string[]; readonly state: readonly string[] }> {
    const stop = new AbortController();
    const lines: string[] = [];
    const state = new Map<string, string>();
    for await (const answer of watchResource(store, lamps, {
      namespace: undefined,
      resourceVersion: String(fromRevision),
      selector: undefined,
      visible: (object) => Promise.resolve(hers(object)),
      signal: stop.signal,
      convert: ({ type, object }) => ({ type, object }),
    })) {
      const { events, resourceVersion } = answer as unknown as WatchAnswer;
      for (const { type, object } of events) {
        expect(hers(object), 'she sees an object that is not hers').to.equal(true);
        lines.push(`${type} ${object.name} ${object.metadata.resourceVersion}`);
        if (type === 'DELETED') state.delete(object.name);
        else state.set(object.name, object.metadata.resourceVersion);
      }
      if (parseCursor(resourceVersion).revision >= store.revision) break;
    }
    stop.abort();
    return { lines, state: [...state].map(([name, version]) => `${name} ${version}`) };
  }

  it('reports an object that becomes visible as added and one that becomes invisible as deleted, also from the log', async () => {
    const engine = new MemoryEngine();
    const labels = (owner: string) => ({ labels: { owner } });
    const store = await openStore({ engine });
    const lamp = await store.create(lamps, { name: 'given', ...labels('ann') });
    await store.overwrite(lamps, { ...lamp, ...labels('bob') });
    const taken = await store.create(lamps, { name: 'taken', ...labels('bob') });
    await store.overwrite(lamps, { ...taken, ...labels('ann') });
    await store.create(lamps, { name: 'quiet', ...labels('bob') });
    await store.deleteByName(lamps, { name: 'quiet' });
    const gone = await store.create(lamps, { name: 'gone', ...labels('ann') });
    await store.transact([
      { op: 'overwrite', kind: lamps, object: { ...gone, ...labels('bob') } },
      { op: 'deleteByName', kind: lamps, key: { name: 'gone' } },
    ]);
    const expected = {
      lines: [
        'ADDED given 1',
        'DELETED given 2',
        'ADDED taken 4',
        'ADDED gone 7',
        'DELETED gone 8',
      ],
      state: ['taken 4'],
    };
    expect(await received(store, 0)).to.deep.equal(expected);
    await store.close();
    await using again = await openStore({ engine });
    expect(await received(again, 0)).to.deep.equal(expected);
  });
});

interface WatchAnswer {
  readonly events: readonly { readonly type: string; readonly object: ApiObject }[];
  readonly resourceVersion: string;
}
