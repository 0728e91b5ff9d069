import { expect } from 'chai';
import fc from 'fast-check';
import { hasCode, limits, systemClock, systemRandom } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { ObjectIndex } from '../index/object-index.js';
import { PagedLists } from '../index/paged-lists.js';
import { SortedEntries } from '../index/sorted-entries.js';
import { LazyObject } from '../record/lazy-object.js';
import { StoreReads } from '../store-reads.js';
import { initialBatches } from './initial-events.js';
import { type InitialSnapshot, InitialSnapshots } from './initial-snapshots.js';
import { WatchHub } from './watch-hub.js';

const things = defineKind<ApiObject>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Cluster',
  statusFields: [],
});

function entryOf(key: string, revision: number, size = 100): LazyObject {
  const origin = { revision, index: 0, checksum: 0, size };
  return new LazyObject(key, origin, JSON.stringify({ name: key, metadata: {} }));
}

/** The remaining objects of a snapshot; undefined if it was dropped. */
function rest(snapshot: InitialSnapshot): readonly LazyObject[] | undefined {
  const found: LazyObject[] = [];
  try {
    for (let entry = snapshot.next(); entry; entry = snapshot.next()) found.push(entry);
    return found;
  } catch (error) {
    expect(hasCode(error, 'ResourceExhausted')).to.equal(true);
    return undefined;
  }
}

describe('initial states of watches', () => {
  it('keep a bounded number of bytes, and lose nothing unless they are dropped, under random writes and reads', () => {
    const step = fc.record({
      op: fc.constantFrom('replace', 'replace', 'take', 'take', 'read', 'end'),
      kind: fc.constantFrom('A', 'B'),
      at: fc.nat(20),
      size: fc.integer({ min: 500_000, max: 3_000_000 }),
    });
    const bytesMax = 5_000_000;
    let dropped = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 60 }), (steps) => {
        const snapshots = new InitialSnapshots(bytesMax);
        const kinds = new Map(['A', 'B'].map((kind) => [kind, new SortedEntries<LazyObject>()]));
        const open: { snapshot: InitialSnapshot; expected: LazyObject[]; isOver: boolean }[] = [];
        let revision = 0;
        for (const { op, kind, at, size } of steps) {
          const sorted = kinds.get(kind)!;
          const one = open[at % Math.max(1, open.length)];
          if (op === 'replace') {
            revision += 1;
            sorted.set(entryOf(`${at}`, revision, size));
            snapshots.noteReplaced(kind, size);
          } else if (op === 'take') {
            const chunks = sorted.snapshot();
            const snapshot = snapshots.take(kind, chunks);
            open.push({ snapshot, expected: chunks.flat(), isOver: false });
          } else if (op === 'read' && one && !one.isOver) {
            try {
              expect(one.snapshot.next()).to.equal(one.expected.shift());
            } catch (error) {
              expect(hasCode(error, 'ResourceExhausted')).to.equal(true);
              one.isOver = true;
              dropped += 1;
            }
          } else if (op === 'end' && one) {
            one.snapshot[Symbol.dispose]();
            one.isOver = true;
          }
          // Up to a megabyte is replaced before the limit is checked again.
          expect(snapshots.bytes).to.be.below(bytesMax + 1_048_576 + 3_000_000);
        }
        for (const { snapshot, expected, isOver } of open) {
          const found = isOver ? expected : rest(snapshot);
          if (!found) dropped += 1;
          expect(found ?? expected).to.deep.equal(expected);
          snapshot[Symbol.dispose]();
        }
        expect(snapshots.bytes).to.equal(0);
      }),
      { seed: 19, numRuns: 400 },
    );
    expect(dropped).to.be.above(20);
  });

  it('of the kind with the most replaced bytes are dropped, the oldest first', () => {
    const snapshots = new InitialSnapshots(4_000_000);
    const chunks = [[entryOf('a', 1)]];
    const quiet = snapshots.take('Quiet', chunks);
    const oldest = snapshots.take('Busy', chunks);
    snapshots.noteReplaced('Busy', 3_000_000);
    const younger = snapshots.take('Busy', chunks);
    snapshots.noteReplaced('Busy', 3_000_000);
    expect(rest(oldest)).to.equal(undefined);
    expect(rest(younger)).to.have.length(1);
    expect(rest(quiet)).to.have.length(1);
    younger[Symbol.dispose]();
    const next = snapshots.take('Busy', chunks);
    oldest[Symbol.dispose]();
    snapshots.noteReplaced('Busy', 5_000_000);
    expect(rest(next), 'counted also after the end of one that was dropped').to.equal(undefined);
  });

  it('are bounded for a kind as long as one of them is open, also after others have ended', () => {
    const snapshots = new InitialSnapshots(4_000_000);
    const chunks = [[entryOf('a', 1)]];
    const first = snapshots.take('Busy', chunks);
    const second = snapshots.take('Busy', chunks);
    const third = snapshots.take('Busy', chunks);
    expect(rest(second)).to.have.length(1);
    second[Symbol.dispose]();
    first[Symbol.dispose]();
    snapshots.noteReplaced('Busy', 3_000_000);
    expect(snapshots.bytes, 'with its reference').to.equal(3_000_008);
    snapshots.noteReplaced('Busy', 2_000_000);
    expect(rest(third)).to.equal(undefined);
    expect(snapshots.bytes).to.equal(0);
  });

  it('share their references, of which each is counted once', () => {
    const snapshots = new InitialSnapshots(1_000);
    const chunks = [Array.from({ length: 100 }, (_, at) => entryOf(`${at}`, at + 1))];
    const taken = Array.from({ length: 50 }, () => snapshots.take('Thing', chunks));
    expect(snapshots.bytes).to.equal(800);
    expect(taken.map((snapshot) => rest(snapshot)?.length)).to.deep.equal(Array(50).fill(100));
    expect(snapshots.bytes, 'of what was sent').to.equal(0);
  });

  it('end their watch with SlowReader once they are dropped, and others continue with events', async () => {
    const index = new ObjectIndex();
    const count = limits.watchBatchEvents + 1;
    for (let at = 0; at < count; at += 1)
      index.table('Thing').set(entryOf(String(at).padStart(4, '0'), at + 1));
    const revisions = { revision: count, compacted: 0 };
    const engine = { scan: () => expect.fail('scan'), get: () => expect.fail('get') };
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const hub = new WatchHub({ engine, clock: systemClock, logger, ...revisions } as never);
    const stop = new AbortController();
    const reads = new StoreReads({
      storeId: 'one',
      index,
      kept: undefined as never,
      pages: new PagedLists(systemClock, systemRandom),
      hub,
      initial: new InitialSnapshots(1_000_000),
      clock: systemClock,
      closing: stop.signal,
    });
    const watch = () =>
      reads.watch(things, { sendInitialEvents: true, signal: stop.signal })[Symbol.asyncIterator]();
    const stuck = watch();
    expect((await stuck.next()).value).to.have.property('initial', 'more');
    reads.noteReplaced('Thing', 2_000_000);
    const error: unknown = await stuck.next().catch((e: unknown) => e);
    expect(error).to.include({ code: 'ResourceExhausted', reason: 'SlowReader' });
    const read = watch();
    const marks: unknown[] = [];
    while (marks.at(-1) !== 'end') {
      const result = await read.next();
      marks.push(result.done === true ? 'end' : result.value.initial);
    }
    expect(marks).to.deep.equal(['more', 'more', 'end']);
    reads.noteReplaced('Thing', 2_000_000);
    const live = read.next();
    stop.abort();
    hub.wakeAll();
    expect(await live).to.have.property('done', true);
  });

  it('come in batches of bounded bytes', async () => {
    const index = new ObjectIndex();
    for (const key of ['a', 'b', 'c'])
      index.table('Thing').set(entryOf(key, 1, limits.watchBatchBytes - 1));
    const snapshot = new InitialSnapshots().take('Thing', index.snapshot('Thing'));
    const lengths: number[] = [];
    for await (const { events } of initialBatches(snapshot, {}, 1, systemClock))
      lengths.push(events.length);
    expect(lengths).to.deep.equal([2, 1, 0]);
  });
});
