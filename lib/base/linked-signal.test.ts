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

  it('adds one listener to a source of thousands of links, and aborts all links that are not disposed', () => {
    const source = new AbortController();
    const links = Array.from({ length: 5_000 }, () => linkSignals(source.signal));
    expect(getEventListeners(source.signal, 'abort')).to.have.length(1);
    const [first, second, third] = links;
    first?.[Symbol.dispose]();
    second?.signal.addEventListener('abort', () => third?.[Symbol.dispose]());
    source.abort('all');
    const aborted = links.map(({ signal }) => signal.aborted);
    expect(aborted.slice(0, 4)).to.deep.equal([false, true, false, true]);
    expect(aborted.filter(Boolean)).to.have.length(4_998);
    expect(links.at(-1)?.signal.reason).to.equal('all');
    for (const link of links) link[Symbol.dispose]();
    expect(getEventListeners(source.signal, 'abort')).to.have.length(0);
  });
});
