import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import {
  declareKind,
  hasCode,
  LevelEngine,
  type EmbeddedStore,
  type ObjectOf,
  openStore,
  seededRandom,
  string,
} from 'kedge';
import { ApiClient } from 'kedge/client';
import { accessControl, ApiServer, describeKinds, type Identity } from 'kedge/server';
import { eventually } from 'kedge/testing';
import { kedgeClient } from '@kedge/api/client';
import { TestDaemon } from '../daemon.js';

/** One change in the log, as received by a watcher. */
interface Change {
  readonly revision: number;
  readonly type: string;
  readonly name: string;
  readonly text: string;
}

const notes = declareKind({
  kind: 'Note',
  plural: 'notes',
  scope: 'Namespaced',
  fields: { text: string() },
});
type Note = ObjectOf<typeof notes>;
const described = describeKinds('notes.v1', [notes]);

const namespace = 'default';
const caller: Identity = {
  subject: 'tester',
  kind: 'user',
  policies: [],
  tokenId: 't',
  expiresAt: undefined,
};

describe('a watch over the wire, against the log of the store', function () {
  this.timeout(600_000);
  const seed = Number(process.env.KEDGE_WATCH_SEED ?? 20_26);
  let folder: string;
  let store: EmbeddedStore;
  let server: ApiServer;
  let ports: { grpc: number; rest: number };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-watch-'));
    // The history is so short that a pausing watcher falls out of it.
    const engine = new LevelEngine({ directory: folder });
    store = await openStore({ engine, historyEvents: 20, historyAgeMs: 0 });
    server = new ApiServer({
      store,
      ...described,
      authenticator: { authenticate: () => Promise.resolve(caller) },
      authorizer: accessControl(() => true),
    });
    const any = { host: '127.0.0.1', port: 0 };
    ports = await server.listen({ grpc: any, rest: any });
  });
  after(async () => {
    await server.close();
    await store.close();
    await rm(folder, { recursive: true });
  });

  const changeOf = (type: string, object: Note): Change => ({
    revision: Number(object.metadata.resourceVersion),
    type,
    name: object.name,
    text: object.text,
  });

  async function write(writer: number, count: number): Promise<void> {
    const random = seededRandom(seed + writer);
    for (let n = 0; n < count; n += 1) {
      const name = `c-${Math.floor(random.next() * 20)}`;
      const text = `${writer}-${n}-${'x'.repeat(Math.floor(random.next() * 300))}`;
      try {
        const dice = random.next();
        if (dice < 0.5) await store.create(notes, { name, namespace, text });
        else if (dice < 0.8) {
          const known = await store.get(notes, { name, namespace });
          if (known) await store.update(notes, { ...known, text });
        } else await store.deleteByName(notes, { name, namespace });
      } catch (error) {
        // Another writer was first.
        if (!['AlreadyExists', 'NotFound', 'Aborted'].some((c) => hasCode(error, c as never)))
          throw error;
      }
    }
  }

  /** Watches until `end`, with pauses and broken connections; relists after it fell out of history. */
  async function watcher(
    client: ApiClient,
    id: number,
    log: readonly Change[],
    end: () => number,
  ): Promise<{ readonly relists: number; readonly reconnects: number }> {
    const random = seededRandom(seed * 1_000 + id);
    const api = client.resource(notes);
    let at = 0;
    let relists = 0;
    let reconnects = 0;
    let state = new Map<string, string>();
    const requireState = (revision: number): void => {
      const wanted = new Map<string, string>();
      for (const { revision: r, type, name, text } of log) {
        if (r > revision) break;
        if (type === 'DELETED') wanted.delete(name);
        else wanted.set(name, text);
      }
      expect([...state].sort(), `watcher ${id} at ${revision}`).to.deep.equal([...wanted].sort());
    };
    const relist = async (): Promise<void> => {
      const { items, revision } = await api.list({ namespace });
      state = new Map(items.map((o) => [o.name, o.text]));
      at = revision;
      relists += 1;
    };
    await relist();
    while (at < end()) {
      const stop = new AbortController();
      let left = 1 + Math.floor(random.next() * 60);
      try {
        const batches = api.watch({ namespace, fromRevision: at, signal: stop.signal });
        for await (const { events, revision } of batches) {
          for (const { type, object } of events) {
            const received = changeOf(type, object);
            // A client may receive an event before the watch that fills the log.
            const isLogged = (): boolean => (log.at(-1)?.revision ?? 0) >= received.revision;
            if (!isLogged()) await eventually('the log', isLogged);
            const next = log.find((change) => change.revision > at);
            expect(received, `watcher ${id} behind ${at}`).to.deep.equal(next);
            if (type === 'DELETED') state.delete(received.name);
            else state.set(received.name, received.text);
            at = received.revision;
            left -= 1;
          }
          at = Math.max(at, revision);
          if (left <= 0 || at >= end()) break;
          if (random.next() < 0.1) await pause(random.next() * 40);
        }
      } catch (error) {
        // A server cuts a connection that ends very many streams; the watcher reconnects.
        if (hasCode(error, 'OutOfRange')) await relist();
        else if (!hasCode(error, 'Unavailable')) throw error;
      }
      stop.abort();
      reconnects += 1;
      if (random.next() < 0.1) await pause(random.next() * 400);
    }
    requireState(at);
    return { relists, reconnects };
  }

  it('never misses, repeats or reorders under writers, slow readers, reconnects and compaction', async () => {
    const log: Change[] = [];
    const stop = new AbortController();
    const following = (async () => {
      const batches = store.watch(notes, { fromRevision: store.revision, signal: stop.signal });
      for await (const { events } of batches)
        for (const { type, object } of events) log.push(changeOf(type, object));
    })();
    const clients = Array.from(
      { length: 6 },
      () => new ApiClient({ ...described, server: `127.0.0.1:${ports.grpc}`, token: 'any' }),
    );
    let last = Number.MAX_SAFE_INTEGER;
    const watchers = Array.from({ length: 30 }, (_, id) =>
      watcher(clients[id % clients.length]!, id, log, () => last),
    );
    const compacting = (async () => {
      while (!stop.signal.aborted) {
        await store.compact();
        await pause(20);
      }
    })();
    await Promise.all(Array.from({ length: 4 }, (_, n) => write(n, 700)));
    // One more event, so that every watcher receives one.
    await store.create(notes, { name: 'last', namespace, text: 'last' });
    last = store.revision;
    const results = await Promise.all(watchers);
    await eventually('the log to be complete', () => log.at(-1)?.revision === last);
    const relists = results.reduce((sum, t) => sum + t.relists, 0);
    const reconnects = results.reduce((sum, t) => sum + t.reconnects, 0);
    console.log(`      ${log.length} changes, ${reconnects} reconnects, ${relists - 30} relists`);
    expect(reconnects).to.be.greaterThan(100);
    expect(relists - 30, 'the history was compacted under some').to.be.greaterThan(0);
    stop.abort();
    await Promise.all([following, compacting]);
    for (const client of clients) client.close();
  });
});

describe('1,000 watchers on one busy kind', function () {
  this.timeout(600_000);
  const watchersMax = 1_000;
  const changes = 200;
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  const residentMiB = async (): Promise<number> => {
    const text = await readFile(`/proc/${daemon.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1]) / 1_024;
  };

  it('all receive every event in order; those that do not read use bounded memory and delay no other', async () => {
    const base = `/v1/namespaces/${namespace}/configmaps`;
    await daemon.ok('POST', base, { name: 'busy', data: { n: '0' } });
    const { resourceVersion } = (await daemon.ok('GET', base)) as { resourceVersion: string };
    const clients = Array.from({ length: 8 }, () =>
      kedgeClient({ server: daemon.grpcAddress, token: daemon.token }),
    );
    const before = await residentMiB();
    const stop = new AbortController();
    const reading = Array.from({ length: watchersMax - 100 }, async (_, id) => {
      const seen: number[] = [];
      const options = { namespace, cursor: resourceVersion, signal: stop.signal };
      for await (const { events } of clients[id % clients.length]!.configmaps.watch(options)) {
        for (const { object } of events) seen.push(Number(object.data.n));
        if (seen.length >= changes) break;
      }
      return seen;
    });
    // They open a stream and never read a byte of it.
    const idle = await Promise.all(
      Array.from({ length: 100 }, () =>
        fetch(`http://${daemon.restAddress}${base}?watch=true&resourceVersion=${resourceVersion}`, {
          headers: { authorization: `Bearer ${daemon.token}` },
          signal: stop.signal,
        }),
      ),
    );
    expect(idle.every(({ status }) => status === 200)).to.equal(true);
    const filler = 'x'.repeat(10_000);
    for (let n = 1; n <= changes; n += 1)
      await daemon.ok('PUT', `${base}/busy`, { name: 'busy', data: { n: String(n), filler } });
    const wanted = Array.from({ length: changes }, (_, n) => n + 1);
    for (const seen of await Promise.all(reading)) expect(seen).to.deep.equal(wanted);
    const grown = (await residentMiB()) - before;
    console.log(`      ${Math.round(grown)} MiB more for ${watchersMax} watchers`);
    // Buffering all of it for each of them would take 2 GiB.
    expect(grown).to.be.lessThan(1_000);
    stop.abort();
    for (const client of clients) client.close();
    expect((await daemon.rest('GET', base)).status).to.equal(200);
  });
});
