import { expect } from 'chai';
import { StatusError } from '../base/index.js';
import { type ApiObject, defineKind } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, RecordingLogger, RecordingMetrics } from '../testing/index.js';
import { EventRecorder, events } from './index.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Namespaced',
  statusFields: [],
});

describe('event recorder under load', () => {
  let store: ObjectStore;
  let clock: FakeClock;
  let metrics: RecordingMetrics;
  let logger: RecordingLogger;
  let about: { readonly kind: string; readonly object: ApiObject };

  beforeEach(async () => {
    clock = new FakeClock();
    metrics = new RecordingMetrics();
    logger = new RecordingLogger();
    store = await openStore({ engine: new MemoryEngine(), clock });
    const object = await store.create(lamps, { namespace: 'default', name: 'a' });
    about = { kind: 'Lamp', object };
  });
  afterEach(() => store.close());

  const make = (over: Partial<ObjectStore> = {}, burst = 100): EventRecorder => {
    const faulty = new Proxy(store, {
      get: (target, field) => {
        const own: unknown = Reflect.get(over, field);
        if (own !== undefined) return own;
        const value: unknown = Reflect.get(target, field);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    return new EventRecorder({ store: faulty, source: 'test', clock, metrics, logger, burst });
  };
  const dropped = (): number =>
    metrics.value('events_dropped_total', { source: 'test', reason: 'Flickers' });

  it('50 equal events at once count 50, in two writes', async () => {
    const recorder = make();
    const { revision } = store;
    for (let n = 0; n < 50; n += 1) recorder.record(about, 'Warning', 'Flickers', 'it flickers');
    await recorder.flush();
    const { items } = await store.list(events);
    expect(items.map(({ count, dropped: left }) => [count, left])).to.deep.equal([[50, undefined]]);
    expect(store.revision - revision).to.equal(2);
    expect(dropped()).to.equal(0);
  });

  it('with several recorders each event is counted or reported as dropped', async () => {
    const recorders = [make({}, 30), make({}, 30), make({}, 30)];
    for (let n = 0; n < 40; n += 1)
      for (const recorder of recorders)
        recorder.record(about, 'Warning', 'Flickers', 'it flickers');
    await Promise.all(recorders.map((recorder) => recorder.flush()));
    const { items } = await store.list(events);
    expect(items).to.have.length(1);
    expect((items[0]?.count ?? 0) + dropped()).to.equal(120);
    expect(items[0]?.count).to.equal(90);
  });

  it('events that cannot be written are counted as dropped, logged, and reported with the next one', async () => {
    let full = true;
    const refused = (): Promise<never> =>
      Promise.reject(
        new StatusError({ code: 'ResourceExhausted', reason: 'DiskFull', message: 'full' }),
      );
    const recorder = make({
      create: ((...given: Parameters<ObjectStore['create']>) =>
        full ? refused() : store.create(...given)) as ObjectStore['create'],
    });
    for (let n = 0; n < 5; n += 1) recorder.record(about, 'Warning', 'Flickers', 'it flickers');
    await recorder.flush();
    expect(dropped()).to.equal(5);
    expect(logger.fieldsOf('event could not be written')).to.have.length(2);
    full = false;
    recorder.record(about, 'Warning', 'Flickers', 'it flickers');
    await recorder.flush();
    const { items } = await store.list(events);
    expect(items.map(({ count, dropped: left }) => [count, left])).to.deep.equal([[1, 5]]);
  });

  it('never throws, not even for invalid arguments', async () => {
    const recorder = make();
    recorder.record(undefined as never, 'Normal', 'Odd', 'nothing at all');
    recorder.record({ kind: 'Lamp', object: {} as never }, 'Normal', 'Odd', 'no object');
    await recorder.flush();
    expect(logger.fieldsOf('event could not be recorded')).to.have.length(2);
    expect(() => make({}, 0)).to.throw(RangeError, 'burst');
  });
});
