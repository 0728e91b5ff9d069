import { expect } from 'chai';
import { nextRetryText } from './request-text.js';

describe('the next call of a driver', () => {
  it('is at the recorded time, or the text has the reason for which there is none', () => {
    const failed = { outcome: 'InvalidParameters', nextTryAt: '' };
    const at = '2026-11-26T10:00:00.000Z';
    expect(nextRetryText({ ...failed, call: 'delete', nextTryAt: at })).to.equal(at);
    expect(nextRetryText({ ...failed, call: 'provision' })).to.equal('not automatic');
    expect(nextRetryText({ ...failed, call: 'attach' })).to.equal('automatic, by the node');
    expect(nextRetryText({ call: 'observe', outcome: 'Succeeded' })).to.equal('not needed');
    for (const outcome of ['Started', 'Pending'])
      expect(nextRetryText({ call: 'delete', outcome })).to.equal(
        'not needed: the call has not ended',
      );
  });
});
