import { expect } from 'chai';
import { type EmbeddedStore, openStore } from 'kedge';
import { eventually, FakeClock, MemoryEngine, settle } from 'kedge/testing';
import { type Instance, instances } from '../instance/kind.js';
import { followedInstances } from './followed-instance.js';

const key = { namespace: 'default', name: 'web-0' };

describe('the output of a followed instance', () => {
  let store: EmbeddedStore;
  let clock: FakeClock;
  let left: AbortController;
  let found: string[];
  let done: Promise<void>;

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    clock = new FakeClock();
    left = new AbortController();
    found = [];
  });
  afterEach(async () => {
    left.abort();
    await done;
    await store.close();
  });

  const create = (): Promise<Instance> =>
    store.create(instances, {
      ...key,
      ...{ service: 'web', ordinal: 0, template: { runtime: 'process', command: ['true'] } },
    });
  /** Yields the uid, and ends when the signal aborts, or immediately. */
  const output = (endsItself: boolean) =>
    async function* ({ metadata: { uid } }: Instance, signal: AbortSignal): AsyncIterable<string> {
      yield uid;
      if (!endsItself && !signal.aborted)
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    };
  function follow(first: Instance, endsItself = false): void {
    const options = { store, clock, signal: left.signal };
    done = (async () => {
      for await (const each of followedInstances(options, first, output(endsItself)))
        found.push('remark' in each ? each.remark : each.item);
    })();
  }
  const pass = async (): Promise<void> => {
    await settle();
    await clock.advance(2_000);
    await settle();
  };

  it('continues with the instance that replaces it', async () => {
    const first = await create();
    follow(first);
    await pass();
    await store.deleteByName(instances, key);
    await pass();
    const second = await create();
    await pass();
    await eventually('the second one', () => found.length === 3);
    expect(found).to.deep.equal([
      first.metadata.uid,
      'instance "default/web-0" was replaced; the output of the new one follows',
      second.metadata.uid,
    ]);
  });

  it('ends with a line about it if none replaces it', async () => {
    const first = await create();
    follow(first);
    await pass();
    await store.deleteByName(instances, key);
    for (let n = 0; n < 2; n += 1) await pass();
    await done;
    expect(found).to.deep.equal([first.metadata.uid, 'instance "default/web-0" was deleted']);
  });

  it('ends without that line with its log, or if its reader disconnects', async () => {
    const first = await create();
    follow(first, true);
    await done;
    expect(found).to.deep.equal([first.metadata.uid]);
    follow(first);
    await pass();
    left.abort();
    await done;
    expect(found).to.deep.equal([first.metadata.uid, first.metadata.uid]);
  });
});
