import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import {
  type ApiObject,
  defineKind,
  hasCode,
  LevelEngine,
  type ObjectStore,
  openStore,
  seededRandom,
} from 'kedge';
import { failingDriver, nowAndThen } from './failing-driver.js';

/*
 * A recorded history of many clients against one store, checked afterwards (the method of etcd's robustness
 * tests). Revisions give the order, so the check is linear.
 */
const operations = Number(process.env['KEDGE_HISTORY_OPERATIONS'] ?? 40_000);
/** A history is in memory until it is checked, so a long soak consists of many of them. */
const histories = Number(process.env['KEDGE_HISTORIES'] ?? 1);
const keys = 50;
const writers = 16;
const restarts = 4;
/** Revisions of history that compactions keep. Watchers that lag further behind are awaited. */
const historyEvents = 20_000;

interface Register extends ApiObject {
  readonly value?: number;
}
const registers = defineKind<Register>({
  kind: 'Register',
  plural: 'registers',
  scope: 'Cluster',
  statusFields: [],
});

interface Write {
  readonly name: string;
  readonly revision: number;
  readonly value: number | undefined;
  /** Required version of a compare-and-set. */
  readonly expected: string | undefined;
  /** Largest revision acknowledged to any client before this write was requested. */
  readonly after: number;
}

interface Seen {
  readonly revision: number;
  readonly name: string;
  readonly value: number | undefined;
}

interface History {
  readonly writes: Write[];
  readonly events: Seen[][];
  readonly lists: { readonly revision: number; readonly state: ReadonlyMap<string, number> }[];
  acked: number;
}

async function writer(
  store: ObjectStore,
  history: History,
  count: number,
  seed: number,
): Promise<void> {
  const random = seededRandom(seed);
  for (let n = 0; n < count; n += 1) {
    const name = `r${Math.floor(random.next() * keys)}`;
    const value = seed * 10_000_000 + n;
    const after = history.acked;
    const choice = random.next();
    const found = await store.get(registers, { name });
    const expected = choice < 0.5 ? found?.metadata.resourceVersion : undefined;
    const object = { name, value };
    try {
      const [result] = await store.transact([
        !found
          ? { op: 'create', kind: registers, object }
          : choice > 0.9
            ? { op: 'deleteByName', kind: registers, key: { name } }
            : expected === undefined
              ? { op: 'overwrite', kind: registers, object }
              : { op: 'update', kind: registers, object, precondition: found.metadata },
      ]);
      const revision = Number(result?.object.metadata.resourceVersion);
      const gone = result?.exists === false;
      history.writes.push({ name, revision, value: gone ? undefined : value, expected, after });
      history.acked = Math.max(history.acked, revision);
    } catch (error) {
      if (hasCode(error, 'Unavailable')) {
        // Its write failed. The watchers show whether it happened.
        await eventually(
          'the store to be reopened',
          () => store.health().state === 'serving',
          60_000,
        );
        continue;
      }
      // Conflict: nothing was written.
      expect(
        ['Aborted', 'AlreadyExists', 'NotFound'].some((code) => hasCode(error, code as 'Aborted')),
        String(error),
      ).to.equal(true);
    }
  }
}

async function watcher(
  store: ObjectStore,
  seen: Seen[],
  from: number,
  slow: boolean,
  signal: AbortSignal,
): Promise<void> {
  for await (const batch of store.watch(registers, { fromRevision: from, signal })) {
    for (const { type, object, revision } of batch.events)
      seen.push({
        revision,
        name: object.name,
        value: type === 'DELETED' ? undefined : object.value,
      });
    if (slow) await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('history', function () {
  this.timeout(600_000);

  const numbers = Array.from({ length: histories }, (_, i) => i + 1);
  for (const number of numbers)
    it(`${number} of ${histories}, of ${operations} operations by ${writers} writers, with restarts, compactions and failed writes, is strictly serializable and fully watched`, () =>
      recordAndCheck(number));
});

/**
 * Writes, watches, lists and compacts through restarts, and checks the history; `number` seeds contents and failures.
 */
async function recordAndCheck(number: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'kedge-history-'));
  const history: History = { writes: [], events: [[], [], [], []], lists: [], acked: 0 };
  const options = { historyEvents, historyAgeMs: 0 };
  const fails = nowAndThen(seededRandom(operations + number - 1), 1_000);
  let failures = 0;
  const driver = failingDriver(() => {
    const failure = fails();
    if (failure) failures += 1;
    return failure;
  });
  let compactions = 0;
  const cursors = [0, 0, 0, 0];
  try {
    for (let part = 0; part <= restarts; part += 1) {
      const store = await openStore({
        engine: new LevelEngine({ directory, driver }),
        ...options,
      });
      expect(store.revision).to.be.greaterThanOrEqual(history.acked);
      const stop = new AbortController();
      const watching = history.events.map((seen, i) =>
        watcher(store, seen, cursors[i] ?? 0, i % 2 === 1, stop.signal),
      );
      const share = Math.floor(operations / writers / (restarts + 1));
      const writing = Promise.all(
        Array.from({ length: writers }, (_, i) =>
          writer(store, history, share, (number * (restarts + 1) + part) * writers + i + 1),
        ),
      );
      let done = false;
      const listing = (async () => {
        while (!done) {
          const { items, revision } = await store.list(registers);
          const state = new Map(items.map((o) => [o.name, o.value ?? -1]));
          history.lists.push({ revision, state });
          for (let turn = 0; turn < 50; turn += 1)
            await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      const slowest = (): number =>
        Math.min(...history.events.map((seen) => seen.at(-1)?.revision ?? 0));
      const compacting = (async () => {
        while (!done) {
          // A failed compaction has dropped a part; the next one continues.
          if (slowest() > store.revision - historyEvents / 2)
            await store.compact().then(
              () => (compactions += 1),
              () => undefined,
            );
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      })();
      await writing;
      done = true;
      await Promise.all([listing, compacting]);
      // Every other watcher is disconnected at its position and resumes after the restart.
      const behind = (): boolean =>
        history.events.some((seen, i) => i < 2 && (seen.at(-1)?.revision ?? 0) < store.revision);
      while (behind()) await new Promise((resolve) => setImmediate(resolve));
      stop.abort();
      await Promise.all(watching);
      history.events.forEach((seen, i) => (cursors[i] = seen.at(-1)?.revision ?? 0));
      if (part === restarts) {
        const rest = new AbortController();
        const more = history.events.map((seen, i) =>
          watcher(store, seen, cursors[i] ?? 0, false, rest.signal),
        );
        const end = store.revision;
        while (history.events.some((seen) => (seen.at(-1)?.revision ?? 0) < end))
          await new Promise((resolve) => setImmediate(resolve));
        rest.abort();
        await Promise.all(more);
      }
      await store.close();
    }
    checkHistory(history);
    expect(compactions).to.be.greaterThan(restarts);
    expect(failures).to.be.greaterThan(0);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function checkHistory({ writes, events, lists }: History): void {
  const [first = []] = events;
  // Dense and complete: each watcher received every revision once and in order.
  for (const seen of events) expect(seen).to.deep.equal(first);
  first.forEach(({ revision }, i) => expect(revision).to.equal(i + 1));
  const byRevision = new Map(first.map((event) => [event.revision, event]));
  const state = new Map<string, number>();
  const versions = new Map<string, number>();
  const sortedWrites = new Map(writes.map((write) => [write.revision, write]));
  expect(sortedWrites.size, 'one writer a revision').to.equal(
    new Set(writes.map((write) => write.revision)).size,
  );
  const listsAt = new Map(lists.map((list) => [list.revision, list]));
  for (let revision = 1; revision <= first.length; revision += 1) {
    const event = byRevision.get(revision);
    if (!event) return expect.fail(`revision ${revision} was not watched`);
    const write = sortedWrites.get(revision);
    if (write) {
      expect(write.after, 'consistent with real time').to.be.lessThan(revision);
      expect([event.name, event.value]).to.deep.equal([write.name, write.value]);
      if (write.expected !== undefined)
        expect(String(versions.get(write.name)), 'compare-and-set').to.equal(write.expected);
    }
    if (event.value === undefined) state.delete(event.name);
    else state.set(event.name, event.value);
    versions.set(event.name, revision);
    const list = listsAt.get(revision);
    if (list) expect([...list.state].sort()).to.deep.equal([...state].sort());
  }
  expect(writes.length, 'acknowledged writes').to.be.greaterThan(first.length * 0.9);
}
