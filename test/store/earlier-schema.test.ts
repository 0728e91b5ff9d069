import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  type ApiObject,
  defineKind,
  hasCode,
  type Kind,
  LevelEngine,
  type EmbeddedStore,
  openStore,
} from 'kedge';
import { fixtureManifest, type LibraryManifest, unpackFixture } from '../fixtures/unpack.js';

const widgets = defineKind<ApiObject>({
  kind: 'Widget',
  plural: 'widgets',
  scope: 'Namespaced',
  statusFields: [],
});
const sites = defineKind<ApiObject>({
  kind: 'Site',
  plural: 'sites',
  scope: 'Cluster',
  statusFields: [],
});
const kinds = [widgets, sites];

async function eventsAfter(
  store: EmbeddedStore,
  kind: Kind<ApiObject>,
  revision: number,
): Promise<unknown> {
  const found: unknown[] = [];
  const stop = new AbortController();
  const from = { fromRevision: revision, signal: stop.signal, bookmarkMs: 1 };
  for await (const batch of store.watch(kind, from)) {
    for (const event of batch.events)
      found.push({ revision: event.revision, type: event.type, name: event.object.name });
    if (batch.revision >= store.revision) stop.abort();
  }
  return found;
}

describe('a data directory of schema version 2', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-schema-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  for (const name of ['schema-2/library', 'schema-2/library-interrupted']) {
    it(`opens with every object, the revision and the history it had: ${name}`, async () => {
      await unpackFixture(name, directory);
      const manifest = await fixtureManifest<LibraryManifest>(name);
      const store = await openStore({ engine: new LevelEngine({ directory }) });
      expect(store.storeId).to.equal(manifest.storeId);
      expect(store.revision).to.equal(manifest.revision);
      await store.verify();
      const mark = manifest.checkpoint.revision;
      for (const kind of kinds) {
        expect((await store.list(kind)).items).to.deep.equal(manifest.objects[kind.kind]);
        expect(await eventsAfter(store, kind, mark)).to.deep.equal(manifest.events[kind.kind]);
      }
      const before = store.watch(widgets, {
        fromRevision: mark - 1,
        signal: new AbortController().signal,
      });
      const refused: unknown = await before[Symbol.asyncIterator]()
        .next()
        .catch((error: unknown) => error);
      expect(hasCode(refused, 'OutOfRange')).to.equal(true);
      await store.close();
    });

    it(`goes on as any other: writes, compactions and another opening, ${name}`, async () => {
      await unpackFixture(name, directory);
      const manifest = await fixtureManifest<LibraryManifest>(name);
      const open = (): Promise<EmbeddedStore> =>
        openStore({
          engine: new LevelEngine({ directory }),
          historyEvents: 0,
          historyAgeMs: -1_000,
        });
      let store = await open();
      for (let n = 0; n < 20; n += 1)
        await store.create(widgets, { namespace: 'default', name: `new-${n}` });
      await store.compact();
      await store.verify();
      await store.close();
      store = await open();
      expect(store.revision).to.equal(manifest.revision + 20);
      const names = (await store.list(widgets)).items.map((item) => item.name);
      const kept = (manifest.objects['Widget'] ?? []).map((item) => item.name);
      const made = Array.from({ length: 20 }, (_, n) => `new-${n}`);
      expect([...names].sort()).to.deep.equal([...kept, ...made].sort());
      await store.verify();
      await store.close();
    });
  }
});
