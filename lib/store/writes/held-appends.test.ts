import { expect } from 'chai';
import { hasCode } from '../../base/index.js';
import { type ApiObject, defineKind, type NewObject } from '../../object/index.js';
import { settle } from '../../testing/index.js';
import { type EngineRecord, type EmbeddedStore, MemoryEngine, openStore } from '../index.js';

interface Thing extends ApiObject {
  readonly size?: number;
}
const things = defineKind<Thing>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Cluster',
  statusFields: [],
});

/** An engine whose appends wait until they are released one by one. */
class HeldEngine extends MemoryEngine {
  hold = false;
  readonly #waiting: (() => void)[] = [];

  override async append(records: readonly EngineRecord[]): Promise<void> {
    if (this.hold) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await super.append(records);
  }

  /** Releases the oldest append. */
  async releaseOldest(): Promise<void> {
    await settle();
    this.#waiting.shift()?.();
    await settle();
  }
}

describe('pending writes', () => {
  let engine: HeldEngine;
  let store: EmbeddedStore;
  let made: Thing;

  beforeEach(async () => {
    engine = new HeldEngine();
    store = await openStore({ engine });
    made = await store.create(things, { name: 'a' });
    engine.hold = true;
  });

  it('of one object are validated against the last pending one, also if an earlier one is durable', async () => {
    const first = store.update(things, { ...made, size: 1 });
    await settle();
    const second = first.then((object) => object.metadata.resourceVersion);
    const other: NewObject<Thing> = { name: 'a', size: 2 };
    const blind = store.transact([{ op: 'overwrite', kind: things, object: other }]);
    await engine.releaseOldest();
    const resourceVersion = await second;
    const { uid } = made.metadata;
    const object = { ...made, size: 3, metadata: { ...made.metadata, resourceVersion } };
    const stale = store
      .transact([{ op: 'update', kind: things, object, precondition: { uid, resourceVersion } }])
      .then(
        () => 'written',
        (error: unknown) => hasCode(error, 'Aborted') && error.code,
      );
    engine.hold = false;
    await engine.releaseOldest();
    await blind;
    expect(await stale).to.equal('Aborted');
    expect(await store.get(things, { name: 'a' })).to.include({ size: 2 });
    await store.close();
  });

  it('are awaited by a close', async () => {
    const write = store.update(things, { ...made, size: 1 });
    let closed = false;
    const closing = store.close().then(() => (closed = true));
    await settle();
    expect(closed).to.equal(false);
    engine.hold = false;
    await engine.releaseOldest();
    expect(await write).to.include({ size: 1 });
    await closing;
  });
});
