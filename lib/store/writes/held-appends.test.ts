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

/** An engine whose appends wait, each until it is let through. */
class HeldEngine extends MemoryEngine {
  hold = false;
  readonly #waiting: (() => void)[] = [];

  override async append(records: readonly EngineRecord[]): Promise<void> {
    if (this.hold) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await super.append(records);
  }

  /** Lets the oldest one through. */
  async letOneThrough(): Promise<void> {
    await settle();
    this.#waiting.shift()?.();
    await settle();
  }
}

describe('writes that are on their way to the disk', () => {
  let engine: HeldEngine;
  let store: EmbeddedStore;
  let made: Thing;

  beforeEach(async () => {
    engine = new HeldEngine();
    store = await openStore({ engine });
    made = await store.create(things, { name: 'a' });
    engine.hold = true;
  });

  it('of one object are judged by the last of them, also when an earlier one has arrived', async () => {
    const first = store.update(things, { ...made, size: 1 });
    await settle();
    const second = first.then((object) => object.metadata.resourceVersion);
    const other: NewObject<Thing> = { name: 'a', size: 2 };
    const blind = store.transact([{ op: 'overwrite', kind: things, object: other }]);
    await engine.letOneThrough();
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
    await engine.letOneThrough();
    await blind;
    expect(await stale).to.equal('Aborted');
    expect(await store.get(things, { name: 'a' })).to.include({ size: 2 });
    await store.close();
  });

  it('are waited for by a close', async () => {
    const write = store.update(things, { ...made, size: 1 });
    let closed = false;
    const closing = store.close().then(() => (closed = true));
    await settle();
    expect(closed).to.equal(false);
    engine.hold = false;
    await engine.letOneThrough();
    expect(await write).to.include({ size: 1 });
    await closing;
  });
});
