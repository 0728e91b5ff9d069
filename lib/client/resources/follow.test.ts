import { expect } from 'chai';
import { messageOf, seededRandom, StatusError } from '../../base/index.js';
import type { ApiObject, WatchBatch, WatchPosition } from '../../object/index.js';
import { FakeClock, settle } from '../../testing/index.js';
import { followChanges, type FollowSource } from './follow.js';

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

const codes = ['Unavailable', 'ResourceExhausted', 'PermissionDenied'] as const;

/** The answers of one watch, and how it ends. */
interface Played {
  readonly batches?: readonly WatchBatch<ApiObject>[];
  readonly error?: string;
}

class PlayedSource implements FollowSource<ApiObject> {
  readonly asked: (WatchPosition | 'list')[] = [];
  readonly #lists: (readonly ApiObject[])[];
  readonly #watches: Played[];
  #listed = 0;

  constructor(lists: readonly (readonly ApiObject[])[], watches: readonly Played[]) {
    this.#lists = [...lists];
    this.#watches = [...watches];
  }

  list(): ReturnType<FollowSource<ApiObject>['list']> {
    this.asked.push('list');
    this.#listed += 1;
    const items = this.#lists.shift() ?? [];
    return Promise.resolve({ items, revision: 100, cursor: `100.list-${this.#listed}` });
  }

  async *watch(from: WatchPosition, signal: AbortSignal): AsyncIterable<WatchBatch<ApiObject>> {
    this.asked.push(from);
    const { batches = [], error } = this.#watches.shift() ?? {};
    yield* batches;
    if (error !== undefined) {
      const code = codes.find((known) => known === error) ?? 'OutOfRange';
      throw new StatusError({ code, reason: error, message: error });
    }
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

async function followed(
  source: PlayedSource,
  from: WatchPosition | undefined,
  {
    known = [] as readonly ApiObject[],
    advanceMs = 0,
    onAway = undefined as ((error: unknown) => void) | undefined,
  } = {},
): Promise<readonly string[]> {
  const stop = new AbortController();
  const clock = new FakeClock();
  const delivered: string[] = [];
  const ports = { clock, random: seededRandom(3) };
  const following = (async () => {
    const options = { from, known, signal: stop.signal, onAway, ...ports };
    for await (const { type, object } of followChanges(source, options))
      delivered.push(
        `${type} ${object.name}@${object.metadata.uid}:${object.metadata.resourceVersion}`,
      );
  })();
  await settle();
  if (advanceMs > 0) await clock.advance(advanceMs);
  await settle();
  stop.abort();
  await following;
  return delivered;
}

describe('following changes', () => {
  const changed = { type: 'MODIFIED', object: lamp('a', 5), revision: 5 } as const;
  const batch = { revision: 6, cursor: '6.store', events: [changed] };

  it('resumes with the whole cursor of the last message', async () => {
    const source = new PlayedSource([], [{ batches: [batch], error: 'Unavailable' }]);
    expect(await followed(source, { cursor: '4.store' })).to.deep.equal(['MODIFIED a@a:5']);
    expect(source.asked).to.deep.equal([{ cursor: '4.store' }, { cursor: '6.store' }]);
  });

  for (const reason of ['OtherStore', 'Compacted', 'Ahead'])
    it(`relists at once if the source answers ${reason}, and delivers the differences, including deletions`, async () => {
      const source = new PlayedSource(
        [[lamp('a', 9), lamp('b', 3, 'b2'), lamp('d', 4)]],
        [{ error: reason }],
      );
      const known = [lamp('a', 5), lamp('b', 3), lamp('c', 2), lamp('d', 4)];
      const delivered = await followed(source, { cursor: '5.store' }, { known });
      // b has the same version by coincidence: it is another object.
      expect(delivered).to.have.members([
        'DELETED b@b:3',
        'DELETED c@c:2',
        'MODIFIED a@a:9',
        'MODIFIED b@b2:3',
      ]);
      expect(source.asked).to.deep.equal([{ cursor: '5.store' }, 'list', { cursor: '100.list-1' }]);
    });

  it('backs off when relists do not help', async () => {
    const watches = Array.from({ length: 50 }, () => ({ error: 'OtherStore' }));
    const source = new PlayedSource([], watches);
    await followed(source, { cursor: '5.store' }, { advanceMs: 10_000 });
    const lists = source.asked.filter((asked) => asked === 'list').length;
    expect(lists).to.be.greaterThan(3).and.lessThan(10);
  });

  it('reports an outage of five seconds once, and again only after a recovery', async () => {
    const away = (count: number): Played[] =>
      Array.from({ length: count }, () => ({ error: 'Unavailable' }));
    const reported: unknown[] = [];
    const onAway = (error: unknown): void => void reported.push(messageOf(error));
    const followFor = async (advanceMs: number, watches: readonly Played[]): Promise<number> => {
      reported.length = 0;
      await followed(new PlayedSource([], watches), { cursor: '4.store' }, { advanceMs, onAway });
      return reported.length;
    };
    expect(await followFor(4_000, away(50))).to.equal(0);
    expect(await followFor(60_000, away(50))).to.equal(1);
    expect(reported).to.deep.equal(['Unavailable']);
    const back: Played = { batches: [batch], error: 'Unavailable' };
    expect(await followFor(120_000, [...away(8), back, ...away(50)])).to.equal(2);
  });

  it('retries if the source is overloaded, and ends with any other error', async () => {
    const full = new PlayedSource([], [{ error: 'ResourceExhausted' }, { batches: [batch] }]);
    const delivered = await followed(full, { cursor: '4.store' }, { advanceMs: 1_000 });
    expect(delivered).to.deep.equal(['MODIFIED a@a:5']);
    const refused = new PlayedSource([], [{ error: 'PermissionDenied' }]);
    const error: unknown = await followed(refused, { cursor: '4.store' }).catch((e: unknown) => e);
    expect(messageOf(error)).to.contain('PermissionDenied');
  });
});
