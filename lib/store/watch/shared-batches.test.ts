import { expect } from 'chai';
import {
  type ApiObject,
  defineKind,
  parseLabelSelector,
  type WatchBatch,
} from '../../object/index.js';
import { MemoryEngine, openStore, type WatchOptions } from '../index.js';
import { scopeKey, SharedBatches } from './shared-batches.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Namespaced',
  statusFields: [],
});
const mebibyte = 1_048_576;
const scope = { kind: 'Lamp', withPrevious: false };

function batchOf(revision: number, size: number): WatchBatch<ApiObject> {
  const object = { name: 'a', metadata: {} } as unknown as ApiObject;
  return { revision, events: [{ type: 'ADDED', object, revision, size }] };
}

describe('batches of watches', () => {
  it('are the same for all watchers of one scope at one revision', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const stop = new AbortController();
    const first = async (options: Partial<WatchOptions>): Promise<WatchBatch<ApiObject>> => {
      const start = { fromRevision: 0, signal: stop.signal, ...options } as WatchOptions;
      for await (const batch of store.watch(lamps, start)) return batch;
      throw new Error('the watch ended');
    };
    const waiting = [first({}), first({})];
    await store.create(lamps, { namespace: 'a', name: 'x', labels: { room: 'kitchen' } });
    const [one, other] = await Promise.all(waiting);
    expect(one).to.equal(other);
    // One watcher can't change what another one gets.
    expect(() => (one?.events as unknown[]).pop()).to.throw(TypeError);
    expect(one).to.be.frozen;
    expect(await first({}), 'one that comes later').to.equal(one);
    const labels = parseLabelSelector('room=kitchen');
    const selected = await first({ labels });
    expect(selected).to.not.equal(one);
    expect(await first({ labels })).to.equal(selected);
    expect(await first({ namespace: 'a' })).to.not.equal(one);
    expect(await first({ withPrevious: true })).to.not.equal(one);
    stop.abort();
  });

  it('differ by the function of a selector, also if its text is the same', () => {
    const selector = (): { (): boolean; text: string } =>
      Object.assign(() => true, { text: 'a=b' });
    const labels = selector();
    expect(scopeKey({ ...scope, labels })).to.equal(scopeKey({ ...scope, labels }));
    expect(scopeKey({ ...scope, labels })).to.not.equal(scopeKey({ ...scope, labels: selector() }));
    expect(scopeKey({ ...scope, labels })).to.not.equal(scopeKey({ ...scope, fields: labels }));
    expect(scopeKey(scope)).to.not.equal(scopeKey({ ...scope, fields: labels }));
    expect(scopeKey(scope)).to.not.equal(scopeKey({ ...scope, namespace: '' }));
  });

  it('are kept up to a maximum of bytes; the oldest one is dropped first', async () => {
    const shared = new SharedBatches();
    let made = 0;
    const after = (revision: number): unknown =>
      shared.after(revision, 'all', () => {
        made += 1;
        return Promise.resolve(batchOf(revision + 1, mebibyte));
      });
    for (let revision = 0; revision < 40; revision += 1) await after(revision);
    expect(shared.bytes).to.be.at.most(16 * mebibyte);
    await after(39);
    expect(made).to.equal(40);
    await after(0);
    expect(made).to.equal(41);
  });

  it('are kept up to a maximum number, also without events', async () => {
    const shared = new SharedBatches();
    let made = 0;
    const after = (revision: number): unknown =>
      shared.after(revision, 'all', () => {
        made += 1;
        return Promise.resolve({ revision: revision + 1, events: [] });
      });
    for (let revision = 0; revision < 257; revision += 1) await after(revision);
    await after(256);
    expect(made).to.equal(257);
    await after(0);
    expect(made).to.equal(258);
  });

  it('are made again after a failure', async () => {
    const shared = new SharedBatches();
    const failing = (): Promise<WatchBatch<ApiObject>> => Promise.reject(new Error('broken'));
    const failed = await Promise.resolve(shared.after(1, 'all', failing)).catch(() => 'failed');
    expect(failed).to.equal('failed');
    const batch = batchOf(2, 1);
    expect(await shared.after(1, 'all', () => Promise.resolve(batch))).to.equal(batch);
  });
});
