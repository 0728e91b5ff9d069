import { expect } from 'chai';
import { watchEvents } from './sse.js';

describe('server-sent watch events', () => {
  const object = (name: string, resourceVersion: string) => ({
    name,
    metadata: { resourceVersion },
  });
  async function idsOf(answers: object[]): Promise<(string | undefined)[]> {
    const ids: (string | undefined)[] = [];
    const source = (async function* () {
      yield* answers as Record<string, unknown>[];
    })();
    for await (const event of watchEvents(source)) ids.push(event.id);
    return ids;
  }

  it('have an id only after the last event of a revision', async () => {
    const events = [
      { type: 'ADDED', object: object('a', '5') },
      { type: 'ADDED', object: object('b', '5') },
      { type: 'ADDED', object: object('c', '6') },
    ];
    const answers = [{ events, resourceVersion: '6.store' }];
    expect(await idsOf(answers)).to.deep.equal([undefined, '5.store', '6.store']);
  });

  it('have no id within the present state, and one bookmark after it', async () => {
    const events = [{ type: 'ADDED', object: object('a', '2') }];
    const ids = await idsOf([
      { events, resourceVersion: '' },
      { events: [], resourceVersion: '9.store' },
    ]);
    expect(ids).to.deep.equal([undefined, '9.store']);
  });
});
