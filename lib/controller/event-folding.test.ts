import { expect } from 'chai';
import { type ApiObject, defineKind } from '../object/index.js';
import { MemoryEngine, openStore } from '../store/index.js';
import { FakeClock, RecordingMetrics } from '../testing/index.js';
import { EventRecorder, events } from './index.js';

interface Lamp extends ApiObject {
  readonly room?: { readonly name: string };
  readonly lit?: boolean;
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Namespaced',
  statusFields: ['lit'],
});
const inDefault = (name: string) => ({ namespace: 'default', name });

describe('event recorder', () => {
  it('merges equal events, limits the rate per reason, and reports dropped events', async () => {
    const clock = new FakeClock();
    const metrics = new RecordingMetrics();
    await using store = await openStore({ engine: new MemoryEngine(), clock });
    const object = await store.create(lamps, inDefault('lamp'));
    const recorder = new EventRecorder({ store, source: 'test', clock, metrics, burst: 3 });
    const about = { kind: 'Lamp', object };
    for (let n = 0; n < 10; n += 1) recorder.record(about, 'Warning', 'Flickers', 'it flickers');
    recorder.record(about, 'Normal', 'Lit', 'it is lit');
    await recorder.flush();
    const listed = async () => (await store.list(events)).items;
    const summary = (await listed()).map((e) => [e.reason, e.count, e.dropped ?? 0]).sort();
    expect(summary).to.deep.equal([
      ['Flickers', 3, 0],
      ['Lit', 1, 0],
    ]);
    expect(metrics.value('events_dropped_total', { source: 'test', reason: 'Flickers' })).to.equal(
      7,
    );
    await clock.advance(300_000);
    recorder.record(about, 'Warning', 'Flickers', 'it flickers');
    await recorder.flush();
    const flickers = (await listed()).find((e) => e.reason === 'Flickers');
    expect([flickers?.count, flickers?.dropped]).to.deep.equal([4, 7]);
    expect(flickers?.regarding).to.include({ kind: 'Lamp', name: 'lamp' });
    await clock.advance(3_500_000);
    expect((await listed()).map((e) => e.reason)).to.deep.equal(['Flickers']);
    await clock.advance(200_000);
    expect(await listed()).to.deep.equal([]);
  });
});
