import { expect } from 'chai';
import { type Random, seededRandom } from '../../base/index.js';
import { type ApiObject, type Kind, kindOf } from '../../object/index.js';
import {
  type EmbeddedStore,
  MemoryEngine,
  type ObjectStore,
  openStore,
} from '../../store/index.js';
import { anonymous } from '../../server/api/call.js';
import { accessControl, ApiServer, describeKinds, mount } from '../../server/index.js';
import { eventually } from '../../testing/index.js';
import { RemoteStore } from './remote-store.js';

interface Thing extends ApiObject {
  readonly text?: string;
}
const things = kindOf<Thing>()({
  kind: 'Thing',
  plural: 'things',
  scope: 'Namespaced',
  statusFields: [],
});
const others = kindOf<Thing>()({
  kind: 'Other',
  plural: 'others',
  scope: 'Namespaced',
  statusFields: [],
});
const fields = { text: 'string' } as const;
const api = describeKinds('faults.v1', [mount(things, fields), mount(others, fields)]);

/** An engine that delays its writes at random. Until it is calm, some fail, before or after they are executed. */
class FaultyEngine extends MemoryEngine {
  /** The last revision that was written. */
  durable = 0;
  faults = 0;
  isCalm = false;
  readonly #random: Random;

  constructor(random: Random) {
    super();
    this.#random = random;
  }

  override async append(records: Parameters<MemoryEngine['append']>[0]): Promise<void> {
    for (let turns = this.#random.next() * 6; turns > 1; turns -= 1)
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
    const fails = !this.isCalm && this.#random.next() < 0.02;
    if (fails) this.faults += 1;
    if (fails && this.#random.next() < 0.5) throw new Error('fault before the write');
    await super.append(records);
    this.durable = records.at(-1)?.revision ?? this.durable;
    if (fails) throw new Error('fault after the write');
  }
}

/** The events that a watcher has received, and the revisions that it received before they were durable. */
class Seen {
  readonly events: string[] = [];
  readonly early: number[] = [];

  constructor(store: ObjectStore, kind: Kind<Thing>, engine: FaultyEngine, signal: AbortSignal) {
    void (async () => {
      for await (const { events } of store.watch(kind, { fromRevision: 0, signal }))
        for (const { type, object, revision } of events) {
          this.events.push(`${revision} ${type} ${object.name}`);
          if (revision > engine.durable) this.early.push(revision);
        }
    })().catch((error: unknown) => this.events.push(String(error)));
  }
}

describe('a server whose disk fails occasionally', () => {
  for (const seed of [1, 2, 3])
    it(`answers every call, and no write before it is durable; watchers see each event once (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const engine = new FaultyEngine(random);
      const store: EmbeddedStore = await openStore({ engine });
      const authenticator = { authenticate: () => Promise.resolve(anonymous) };
      const authorizer = accessControl(() => true);
      const server = new ApiServer({ store, ...api, authenticator, authorizer });
      const local = { host: '127.0.0.1', port: 0 };
      const { grpc } = await server.listen({ grpc: local, rest: local });
      const connect = () => RemoteStore.connect({ server: `127.0.0.1:${grpc}`, token: undefined });
      const remotes = [await connect(), await connect()] as const;
      const stop = new AbortController();
      const watchers = [...Array.from({ length: 20 }, (_, n) => remotes[n % 2]!), store].map(
        (source) => new Seen(source, things, engine, stop.signal),
      );
      const ofOthers = new Seen(remotes[0], others, engine, stop.signal);
      const answered: { kind: Kind<Thing>; event: string; revision: number }[] = [];
      const early: string[] = [];
      const answer = (kind: Kind<Thing>, type: string, { name, metadata }: Thing): void => {
        const revision = Number(metadata.resourceVersion);
        if (revision > engine.durable) early.push(name);
        answered.push({ kind, revision, event: `${revision} ${type} ${name}` });
      };
      const write = async (n: number, at: number): Promise<void> => {
        const remote = remotes[n % 2]!;
        const kind = random.next() < 0.8 ? things : others;
        const name = `n-${n}-${at}`;
        const made = await remote.create(kind, { namespace: 'default', name, text: name });
        answer(kind, 'ADDED', made);
        if (random.next() < 0.5) return;
        const updated = await remote.update(kind, { ...made, text: 'updated' });
        answer(kind, 'MODIFIED', updated);
        if (random.next() < 0.5) answer(kind, 'DELETED', await remote.delete(kind, updated));
      };
      try {
        await Promise.all(
          Array.from({ length: 24 }, async (_, n) => {
            for (let at = 0; at < 12; at += 1) await write(n, at).catch(() => undefined);
          }),
        );
        engine.isCalm = true;
        await eventually('the store', () => store.health().state === 'serving');
        for (const kind of [things, others])
          await store.create(kind, { namespace: 'default', name: 'last' });
        const all = [...watchers, ofOthers];
        await eventually('the last event', () =>
          all.every(({ events }) => events.at(-1)?.endsWith('last') === true),
        );
        expect(early).to.deep.equal([]);
        expect(all.flatMap((watcher) => watcher.early)).to.deep.equal([]);
        const [first] = watchers;
        for (const { events } of watchers) expect(events).to.deep.equal(first?.events);
        for (const { events } of all) {
          const revisions = events.map((event) => Number(event.split(' ')[0]));
          expect(revisions).to.deep.equal([...new Set(revisions)].sort((a, b) => a - b));
        }
        for (const { kind, event } of answered)
          expect((kind === things ? first : ofOthers)?.events).to.include(event);
        // Their number depends on the machine: writes are refused until the store has reopened itself.
        expect(answered).to.not.be.empty;
      } finally {
        stop.abort();
        for (const remote of remotes) await remote.close();
        await server.close();
        await store.close();
      }
    });
});
