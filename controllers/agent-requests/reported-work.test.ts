import { expect } from 'chai';
import type { JsonObject } from 'kedge/rpc';
import { FakeClock, settle } from 'kedge/testing';
import { reported } from './reported-work.js';

describe('the work of an agent', () => {
  it('is reported at its start and every 30 s, with its newest text and its result', async () => {
    const clock = new FakeClock();
    let onText: (text: string) => void = () => undefined;
    let finish: (result: JsonObject) => void = () => undefined;
    const answers: JsonObject[] = [];
    const reading = (async () => {
      for await (const answer of reported(clock, (listener) => {
        onText = listener;
        return new Promise((resolve) => {
          finish = resolve;
        });
      }))
        answers.push(answer);
    })();
    await settle();
    expect(answers.splice(0)).to.deep.equal([{ begun: true }]);
    await clock.advance(60_000);
    expect(answers.splice(0)).to.deep.equal([{ begun: true }, { begun: true }]);
    onText('one');
    onText('two');
    await settle();
    expect(answers.splice(0)).to.deep.equal([{ progress: 'two' }]);
    await clock.advance(29_999);
    expect(answers).to.deep.equal([]);
    finish({ loaded: {} });
    await reading;
    expect(answers).to.deep.equal([{ loaded: {} }]);
    expect(clock.pending).to.equal(0);
  });

  it('that fails is reported by its error', async () => {
    const work = reported(new FakeClock(), () => Promise.reject(new Error('no space')));
    const answers = work[Symbol.asyncIterator]();
    expect((await answers.next()).value).to.deep.equal({ begun: true });
    const error: unknown = await answers.next().catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain('no space');
  });
});
