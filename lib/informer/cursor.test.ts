import { expect } from 'chai';
import { StatusError } from '../base/index.js';
import {
  type ApiObject,
  defineKind,
  formatCursor,
  type ListWatch,
  stored,
  type StoredBatch,
  type StoredList,
} from '../object/index.js';
import { MemoryEngine, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { SharedInformer } from './index.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

function lamp(name: string, version: number, uid = name): ApiObject {
  const metadata = {
    uid,
    resourceVersion: String(version),
    generation: 1,
    createdAt: '',
    updatedAt: '',
  };
  return { name, metadata };
}

/** A source with cursors that the test controls. */
class PlayedSource implements ListWatch<ApiObject> {
  list: () => Promise<StoredList<ApiObject>>;
  readonly watched: (readonly [number, string | undefined])[] = [];
  sink: (batch: StoredBatch<ApiObject>) => void = () => undefined;
  end: (reason?: string) => void = () => undefined;

  constructor(items: readonly ApiObject[], revision: number, cursor: string) {
    this.list = () => Promise.resolve({ items: items.map(stored), revision, cursor });
  }

  watch(
    revision: number,
    sink: (batch: StoredBatch<ApiObject>) => void,
    signal: AbortSignal,
    cursor?: string,
  ): Promise<void> {
    this.watched.push([revision, cursor]);
    this.sink = sink;
    return new Promise<void>((resolve, reject) => {
      this.end = (reason) => {
        if (reason === undefined) resolve();
        else reject(new StatusError({ code: 'OutOfRange', reason, message: reason }));
      };
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

describe('an informer on a source with cursors', () => {
  it('resumes with the whole cursor of its last list or batch of events', async () => {
    const source = new PlayedSource([lamp('a', 1)], 4, '4.one');
    await using informer = new SharedInformer({ source, name: 'lamps', clock: new FakeClock() });
    informer.start();
    await settle();
    source.end();
    await settle();
    source.sink({ revision: 6, cursor: '6.one', events: [] });
    source.end();
    await settle();
    expect(source.watched).to.deep.equal([
      [4, '4.one'],
      [4, '4.one'],
      [6, '6.one'],
    ]);
  });

  for (const reason of ['OtherStore', 'Compacted', 'Ahead'])
    it(`relists at once if its cursor is refused as ${reason}, and follows the new list`, async () => {
      const source = new PlayedSource([lamp('a', 1), lamp('b', 2)], 4, '4.one');
      await using informer = new SharedInformer({ source, name: 'lamps', clock: new FakeClock() });
      informer.start();
      await settle();
      source.list = () =>
        Promise.resolve({ items: [stored(lamp('a', 1))], revision: 2, cursor: '2.two' });
      source.end(reason);
      await settle();
      expect(informer.lister.list().map(({ name }) => name)).to.deep.equal(['a']);
      expect(informer.revision).to.equal(2);
      expect(source.watched.at(-1)).to.deep.equal([2, '2.two']);
    });

  it('delivers another object of the same name and version, found by a relist, as a delete and an add', async () => {
    const source = new PlayedSource([lamp('a', 1, 'first'), lamp('b', 2)], 4, '4.one');
    await using informer = new SharedInformer({ source, name: 'lamps', clock: new FakeClock() });
    const delivered: string[] = [];
    informer.start();
    await settle();
    informer.addHandler({
      onAdd: ({ metadata }) => void delivered.push(`add ${metadata.uid}`),
      onUpdate: (_before, { name }) => void delivered.push(`update ${name}`),
      onDelete: ({ object }) => void delivered.push(`delete ${object.metadata.uid}`),
    });
    await settle();
    delivered.length = 0;
    const items = [lamp('a', 1, 'second'), lamp('b', 2)].map(stored);
    source.list = () => Promise.resolve({ items, revision: 4, cursor: '4.two' });
    source.end('OtherStore');
    await settle();
    expect(delivered).to.deep.equal(['delete first', 'add second']);
  });

  it('a watch of an in-process store is refused for a cursor of another store', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    await using other = await openStore({ engine: new MemoryEngine() });
    for (let n = 0; n < 3; n += 1) await store.create(lamps, { name: `lamp-${n}` });
    const { signal } = new AbortController();
    const cursor = formatCursor(1, other.storeId);
    const refusal = await store
      .source(lamps)
      .watch(1, () => undefined, signal, cursor)
      .catch((error: unknown) => error);
    expect((refusal as StatusError).reason).to.equal('OtherStore');
  });
});
