import { expect } from 'chai';
import { watchEvents } from './sse.js';

describe('server-sent watch events', () => {
  const object = (name: string, resourceVersion: string) => ({
    name,
    metadata: { resourceVersion },
  });
  function idsOf(answers: object[]): (string | undefined)[] {
    const events = answers.flatMap((answer) => [...watchEvents(answer as Record<string, unknown>)]);
    return events.map(({ id }) => id);
  }

  it('have an id only after the last event of a revision', () => {
    const events = [
      { type: 'ADDED', object: object('a', '5') },
      { type: 'ADDED', object: object('b', '5') },
      { type: 'ADDED', object: object('c', '6') },
    ];
    const answers = [{ events, resourceVersion: '6.store' }];
    expect(idsOf(answers)).to.deep.equal([undefined, '5.store', '6.store']);
  });

  it('have no id within the present state, and one bookmark after it', () => {
    const events = [{ type: 'ADDED', object: object('a', '2') }];
    const ids = idsOf([
      { events, resourceVersion: '' },
      { events: [], resourceVersion: '9.store' },
    ]);
    expect(ids).to.deep.equal([undefined, '9.store']);
  });
});
