import { expect } from 'chai';
import { type ApiObject, defineKind } from '../object/index.js';
import type { JsonObject } from '../rpc/index.js';
import { MemoryEngine, openStore } from '../store/index.js';
import { watchResource } from './resource-watch.js';
import { type ServerSentEvent, watchEvents } from './sse.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});
const count = 1_200;

describe('watch without a version, over the wire', () => {
  it('streams the present state in parts, ends it with the version to resume at, then goes on live', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    for (let n = 0; n < count; n += 1) await store.create(lamps, { name: `lamp-${n}` });
    const stop = new AbortController();
    const answers = watchResource(store, lamps, {
      namespace: undefined,
      resourceVersion: '',
      selector: undefined,
      signal: stop.signal,
      show: (object) => object as unknown as JsonObject,
    });
    const seen: ServerSentEvent[] = [];
    for await (const event of watchEvents(answers)) {
      seen.push(event);
      if (event.event === 'BOOKMARK') await store.create(lamps, { name: 'late' });
      if (seen.length === count + 2) break;
    }
    stop.abort();
    const initial = seen.slice(0, count);
    expect(initial.every((event) => event.event === 'ADDED' && event.id === undefined)).to.equal(
      true,
    );
    expect(seen[count]).to.include({ event: 'BOOKMARK', id: String(count) });
    expect(seen[count + 1]).to.include({ event: 'ADDED', id: String(count + 1) });
  });

  it('sends no message with more than a part of it', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    for (let n = 0; n < count; n += 1) await store.create(lamps, { name: `lamp-${n}` });
    const stop = new AbortController();
    const sizes: number[] = [];
    for await (const answer of watchResource(store, lamps, {
      namespace: undefined,
      resourceVersion: '',
      selector: undefined,
      signal: stop.signal,
      show: (object) => object as unknown as JsonObject,
    })) {
      const { events, resourceVersion } = answer as unknown as WatchAnswer;
      sizes.push(events.length);
      if (resourceVersion !== '') stop.abort();
    }
    expect(sizes.at(-1)).to.equal(0);
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.equal(count);
    expect(Math.max(...sizes)).to.be.lessThan(500);
    expect(sizes.length).to.be.greaterThan(3);
  });
});

interface WatchAnswer {
  readonly events: readonly unknown[];
  readonly resourceVersion: string;
}
