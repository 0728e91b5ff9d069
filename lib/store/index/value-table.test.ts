import { expect } from 'chai';
import { systemClock } from '../../base/index.js';
import type { ApiObject } from '../../object/index.js';
import { LazyObject } from '../record/lazy-object.js';
import { ValueTable } from './value-table.js';

const origin = { revision: 1, index: 0, checksum: 0, size: 100 };
const entry = (name: string): LazyObject => {
  const metadata = { uid: name, resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
  return new LazyObject(name, origin, JSON.stringify({ name, metadata }));
};
const old = (_object: ApiObject): readonly string[] => ['old'];

describe('a table of index values', () => {
  it('has the present values of objects that changed while it was filled', async () => {
    const table = new ValueTable();
    const entries = Array.from({ length: 1_000 }, (_, n) => entry(`t${n}`));
    let pauses = 0;
    // Every turn is used up at once, and other work runs in between.
    const clock = Object.assign(Object.create(systemClock) as typeof systemClock, {
      turnAgeMs: () => (pauses % 2 === 0 ? 1_000 : 0),
      defer: (resolve: () => void) => {
        pauses += 1;
        if (pauses === 1) {
          table.set('t0', ['new']);
          table.set('t998', ['new']);
          table.delete('t999');
          table.set('made', ['new']);
        }
        queueMicrotask(resolve);
      },
    });
    await table.fill([entries], old, clock);
    expect(pauses).to.be.at.least(1);
    expect(table.keys('new')).to.deep.equal(['made', 't0', 't998']);
    expect(table.keys('old')).to.have.length(997);
    expect(table.keys('old')).to.not.include.members(['t998']);
    table.delete('made');
    expect(table.keys('new')).to.deep.equal(['t0', 't998']);
  });
});
