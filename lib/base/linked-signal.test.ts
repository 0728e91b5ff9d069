import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { linkSignals } from './index.js';

describe('linked signal', () => {
  it('aborts with the reason of the first source that aborts', () => {
    const [a, b] = [new AbortController(), new AbortController()];
    using link = linkSignals(a.signal, b.signal);
    b.abort('b');
    a.abort('a');
    expect(link.signal.reason).to.equal('b');
  });

  it('is aborted at once if a source is aborted', () => {
    using link = linkSignals(AbortSignal.abort('early'));
    expect(link.signal.reason).to.equal('early');
  });

  it('removes its listeners from the sources when disposed', () => {
    const source = new AbortController().signal;
    for (let n = 0; n < 100; n += 1) {
      using link = linkSignals(source);
      expect(link.signal.aborted).to.equal(false);
    }
    expect(getEventListeners(source, 'abort')).to.have.length(0);
  });
});
