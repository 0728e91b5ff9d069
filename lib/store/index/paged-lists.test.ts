import { expect } from 'chai';
import fc from 'fast-check';
import { limits, seededRandom, StatusError } from '../../base/index.js';
import {
  type ApiObject,
  defineKind,
  parseFieldSelector,
  parseLabelSelector,
} from '../../object/index.js';
import { FakeClock } from '../../testing/index.js';
import { MemoryEngine, type ListOptions, type EmbeddedStore, openStore } from '../index.js';
import { type Keepable, KeptLists } from './kept-lists.js';

interface Thing extends ApiObject {
  readonly value?: number;
}
const things = defineKind<Thing>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Namespaced',
  statusFields: [],
});
const others = defineKind<Thing>({
  kind: 'Other',
  plural: 'others',
  scope: 'Namespaced',
  statusFields: [],
});

async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'given';
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return error.code === 'OutOfRange' ? error.reason : error.code;
  }
}

describe('paged lists', () => {
  let engine: MemoryEngine;
  let store: EmbeddedStore;
  let clock: FakeClock;

  beforeEach(async () => {
    engine = new MemoryEngine();
    clock = new FakeClock();
    store = await openStore({ engine, clock, historyEvents: 0, historyAgeMs: 0 });
    for (const namespace of ['default', 'hidden'])
      for (let n = 0; n < 6; n += 1)
        await store.create(things, {
          namespace,
          name: `t${n}`,
          value: n,
          labels: { tier: n % 2 === 0 ? 'web' : 'db' },
        });
  });
  afterEach(() => store.close());

  const begin = async (options: ListOptions = {}): Promise<string> => {
    const { nextPageToken } = await store.list(things, { limit: 1, ...options });
    expect(nextPageToken).to.not.equal('');
    return nextPageToken;
  };

  it('accept a page token only for its own list: kind, namespace, selector and caller', async () => {
    const labels = parseLabelSelector('tier=web');
    const fields = parseFieldSelector('value!=0');
    const own = { namespace: 'default', labels, fields, caller: 'ann' };
    const pageToken = await begin(own);
    const { namespace: _namespace, ...everywhere } = own;
    const { labels: _labels, ...unlabelled } = own;
    const { fields: _fields, ...anyFields } = own;
    const { caller: _caller, ...anybody } = own;
    const wrong: readonly ListOptions[] = [
      { ...own, namespace: 'hidden' },
      { ...own, labels: parseLabelSelector('tier=db') },
      { ...own, fields: parseFieldSelector('value!=1') },
      { ...own, caller: 'bob' },
      ...[everywhere, unlabelled, anyFields, anybody],
    ];
    for (const options of wrong)
      expect(
        await reasonOf(store.list(things, { ...options, pageToken })),
        JSON.stringify(options),
      ).to.equal('InvalidArgument');
    expect(await reasonOf(store.list(others, { ...own, pageToken }))).to.equal('InvalidArgument');
    // The same text, compiled again, is the same selector.
    const again = { ...own, labels: parseLabelSelector('tier=web') };
    const { items } = await store.list(things, { ...again, pageToken });
    expect(items.map(({ name }) => name)).to.deep.equal(['t4']);
  });

  it('refuse an invalid page size, on the first page and on the next: such a list would never end', async () => {
    const pageToken = await begin();
    for (const size of [0, -1, NaN])
      for (const options of [{ limit: size }, { pageBytes: size }, { pageToken, limit: size }])
        expect(await reasonOf(store.list(things, options)), String(size)).to.equal(
          'InvalidArgument',
        );
    expect(await reasonOf(store.list(things, { limit: 1.5 }))).to.equal('InvalidArgument');
    const { items } = await store.list(things, { limit: limits.pageSizeMax + 1 });
    expect(items.length).to.equal(12);
  });

  it('refuse a forged or changed token for another page of a list', async () => {
    const text = Buffer.from(await begin(), 'base64url').toString();
    for (let at = 0; at < text.length; at += 1) {
      const digit = text[at] === '1' ? '2' : '1';
      const changed = `${text.slice(0, at)}${digit}${text.slice(at + 1)}`;
      const pageToken = Buffer.from(changed).toString('base64url');
      const reason = await reasonOf(store.list(things, { pageToken }));
      expect(reason, changed).to.be.oneOf(['InvalidArgument', 'PageTokenExpired']);
    }
    for (const pageToken of ['nonsense', '-', 'a'.repeat(10_000)])
      expect(await reasonOf(store.list(things, { pageToken }))).to.equal('InvalidArgument');
  });

  it('return every object once, for all page sizes and retries, during writes and compaction', async () => {
    const page = fc.record({
      limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
      pageBytes: fc.option(fc.integer({ min: 1, max: 900 }), { nil: undefined }),
      retry: fc.boolean(),
      write: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(page, { maxLength: 20 }), async (pages) => {
        const wanted = (await store.list(things)).items;
        const { revision } = store;
        const seen: Thing[] = [];
        let pageToken = '';
        for (const { limit, pageBytes, retry, write } of [...pages, { limit: 100 } as never]) {
          const options = {
            pageToken,
            ...(limit === undefined ? {} : { limit }),
            ...(pageBytes === undefined ? {} : { pageBytes }),
          };
          const answer = await store.list(things, options);
          if (retry && pageToken !== '')
            expect(await store.list(things, options)).to.deep.equal(answer);
          expect(answer.revision).to.equal(revision);
          seen.push(...answer.items);
          pageToken = answer.nextPageToken;
          if (pageToken === '') break;
          if (!write) continue;
          const namespace = 'default';
          const name = `new-${seen.length}`;
          const known = await store.get(things, { namespace, name });
          if (known) await store.delete(things, known);
          else await store.create(things, { namespace, name });
          await store.compact();
        }
        expect(seen).to.deep.equal(wanted);
      }),
      { numRuns: 100 },
    );
  });

  it('of one caller evict only lists of that caller, the least recently used one first', async () => {
    const mine = await begin({ caller: 'ann' });
    const first = await begin({ caller: 'bob' });
    const second = await begin({ caller: 'bob' });
    for (let n = 2; n < limits.pagedListsPerCallerMax; n += 1) await begin({ caller: 'bob' });
    const page = (caller: string, pageToken: string): Promise<string> =>
      reasonOf(store.list(things, { caller, pageToken, limit: 1 }));
    expect(await page('bob', first)).to.equal('given');
    await begin({ caller: 'bob' });
    expect(await page('bob', second)).to.equal('PageTokenExpired');
    expect(await page('bob', first)).to.equal('given');
    for (let n = 0; n < 2 * limits.pagedListsPerCallerMax; n += 1) await begin({ caller: 'bob' });
    expect(await page('bob', first)).to.equal('PageTokenExpired');
    expect(await page('ann', mine)).to.equal('given');
  });

  it('of many callers are bounded in total; the caller with the most loses lists', async () => {
    const few = await begin({ caller: 'ann' });
    const callers = Math.ceil(limits.pagedListsMax / limits.pagedListsPerCallerMax) + 1;
    for (let n = 0; n < callers * limits.pagedListsPerCallerMax; n += 1)
      await begin({ caller: `many-${n % callers}` });
    const own = await begin();
    const page = (options: ListOptions): Promise<string> => reasonOf(store.list(things, options));
    expect(await page({ caller: 'ann', pageToken: few })).to.equal('given');
    expect(await page({ pageToken: own })).to.equal('given');
  });

  it('expire without a request for the next page, and with a restart, as PageTokenExpired', async () => {
    const idle = await begin();
    const kept = await begin();
    await clock.advance(limits.pagedListIdleMs - 1);
    await store.list(things, { pageToken: kept, limit: 1 });
    await clock.advance(2);
    expect(await reasonOf(store.list(things, { pageToken: idle }))).to.equal('PageTokenExpired');
    expect(await reasonOf(store.list(things, { pageToken: kept }))).to.equal('given');
    await store.close();
    store = await openStore({ engine, clock, random: seededRandom(7) });
    expect(await reasonOf(store.list(things, { pageToken: kept }))).to.equal('PageTokenExpired');
  });
});

describe('memory of kept lists', () => {
  const list = (kept: KeptLists<Keepable>, caller: string, kind = 'Thing'): Keepable => ({
    kind,
    caller,
    revision: 1,
    chunks: [],
    replacedBefore: kept.replacedOf(kind),
  });

  it('is bounded: the list that keeps the most replaced objects alive is evicted', () => {
    const kept = new KeptLists(new FakeClock());
    const max = limits.pagedListsBytesMax;
    kept.keep('old', list(kept, 'ann'));
    kept.keep('unconcerned', list(kept, 'bob', 'Other'));
    kept.noteReplaced('Thing', max / 2);
    kept.keep('young', list(kept, 'bob'));
    kept.noteReplaced('Thing', max / 2);
    expect(kept.use('old')).to.not.equal(undefined);
    kept.noteReplaced('Thing', max / 4);
    expect(kept.use('old')).to.equal(undefined);
    expect(kept.use('young')).to.not.equal(undefined);
    expect(kept.use('unconcerned')).to.not.equal(undefined);
  });

  it('is bounded in the references of its snapshots; the caller with the most loses lists', () => {
    const kept = new KeptLists(new FakeClock());
    const chunks = [new Array(limits.pagedListsBytesMax / 8 / 4).fill(undefined)] as never;
    kept.keep('small', list(kept, 'ann'));
    for (let n = 0; n < 6; n += 1) kept.keep(`large-${n}`, { ...list(kept, 'bob'), chunks });
    expect(kept.size).to.equal(5);
    expect(kept.use('small')).to.not.equal(undefined);
    expect(kept.use('large-1')).to.equal(undefined);
    expect(kept.use('large-5')).to.not.equal(undefined);
  });

  it('is released without a request for the next page, by the next write or list', async () => {
    const clock = new FakeClock();
    const kept = new KeptLists(clock);
    kept.keep('idle', list(kept, 'ann'));
    await clock.advance(limits.pagedListIdleMs + 1);
    kept.noteReplaced('Thing', 2_000_000);
    expect(kept.size).to.equal(0);
  });
});
