import { expect } from 'chai';
import fc from 'fast-check';
import { type ActionFate, ActionTable } from './actions.js';

type Work = number;

describe('the actions of an emulated provider', () => {
  const started = (fate?: ActionFate) => {
    const table = new ActionTable<Work>(10);
    const effects: Work[] = [];
    const settle = (now: number): void =>
      table.settle(now, (work) => {
        effects.push(work);
        return undefined;
      });
    const order = { work: 7, locks: ['a'], takesMs: 100, ...(fate ? { fate } : {}) };
    return { table, effects, settle, action: table.start(order, 1_000) };
  };

  it('have no effect before their time, and one at their time', () => {
    const { table, effects, settle, action } = started();
    settle(1_099);
    expect(effects).to.deep.equal([]);
    expect(table.get(action.id)?.status).to.equal('running');
    settle(5_000);
    settle(6_000);
    expect(effects).to.deep.equal([7]);
    // `endedAt` is the time at which the action was due, and not that of the later call.
    expect(table.get(action.id)).to.include({ status: 'done', endedAt: 1_100 });
  });

  it('hold their locks until they end', () => {
    const { table, settle, action } = started();
    expect(table.holder('a')?.id).to.equal(action.id);
    expect(table.holder('b')).to.equal(undefined);
    settle(1_100);
    expect(table.holder('a')).to.equal(undefined);
  });

  it('that are stuck hold their locks until they are ended by hand', () => {
    const { table, effects, settle, action } = started({ stuck: true });
    settle(1e9);
    expect(table.nextEnd).to.equal(undefined);
    expect(effects).to.deep.equal([]);
    expect(table.holder('a')).to.exist;
    table.finish(action.id, 2e9, (work) => void effects.push(work));
    expect(effects).to.deep.equal([7]);
    expect(table.holder('a')).to.equal(undefined);
  });

  it('whose record is stuck have their effect in time, and hold nothing', () => {
    const { table, effects, settle, action } = started({ stuck: true, effectOfStuck: true });
    settle(1_100);
    expect(effects).to.deep.equal([7]);
    expect(table.get(action.id)?.status).to.equal('running');
    expect(table.holder('a')).to.equal(undefined);
  });

  it('that fail have no effect', () => {
    const failure = { code: 'x', message: 'why' };
    const { table, effects, settle, action } = started({ fails: failure });
    settle(1_100);
    expect(effects).to.deep.equal([]);
    expect(table.get(action.id)).to.deep.include({ status: 'failed', failure });
  });

  it('whose effect is refused fail with its reason', () => {
    const { table, action } = started();
    const failure = { code: 'gone', message: 'the volume was deleted' };
    table.settle(2_000, () => failure);
    expect(table.get(action.id)).to.deep.include({ status: 'failed', failure });
  });

  it('continue after a restart', () => {
    const { table, action } = started();
    const saved = JSON.parse(JSON.stringify(table.save())) as ReturnType<typeof table.save>;
    const again = new ActionTable<Work>(10, saved);
    const effects: Work[] = [];
    again.settle(2_000, (work) => void effects.push(work));
    expect(effects).to.deep.equal([7]);
    expect(again.start({ work: 8, locks: [], takesMs: 1 }, 0).id).to.equal(action.id + 1);
  });

  it('have their effects once each and in the order of their ends, however time moves', () => {
    const orders = fc.array(fc.record({ takesMs: fc.nat(50), at: fc.nat(100) }), { maxLength: 20 });
    const looks = fc.array(fc.nat(200), { maxLength: 10 });
    fc.assert(
      fc.property(orders, looks, (given, times) => {
        const table = new ActionTable<Work>(1);
        const effects: Work[] = [];
        const inTime = [...given].sort((a, b) => a.at - b.at);
        for (const [work, { at, takesMs }] of inTime.entries())
          table.start({ work, locks: [], takesMs }, at);
        const effect = (work: Work): undefined => void effects.push(work);
        for (const now of [...times].sort((a, b) => a - b)) {
          table.settle(now, effect);
          const due = inTime.filter(({ at, takesMs }) => at + takesMs <= now);
          expect(effects).to.have.length(due.length);
        }
        table.settle(1_000, effect);
        const ends = effects.map((work) => inTime[work]!.at + inTime[work]!.takesMs);
        expect(ends).to.deep.equal([...ends].sort((a, b) => a - b));
        expect(new Set(effects).size).to.equal(given.length);
      }),
    );
  });
});
