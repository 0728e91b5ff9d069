import { expect } from 'chai';
import { StatusError, type StatusCode } from 'kedge/objects';
import { staleStates } from './store-state.js';

describe('the state of the store in the output of a command', () => {
  const failing = (code: StatusCode) => () =>
    Promise.reject(new StatusError({ code, reason: code, message: 'no \u001b[31mstore' }));

  it('is omitted while the store accepts writes', async () => {
    expect(await staleStates(undefined, async () => 'SERVING')).to.equal(undefined);
    expect(await staleStates(undefined, async () => 'FULL')).to.contain('writes are refused');
  });

  it("is reported as unknown with the reason if it can't be read", async () => {
    const stale = await staleStates(undefined, failing('Unavailable'));
    expect(stale).to.match(/^States may be out of date: .*can't be read \(no .*store\)/);
    expect(stale).to.not.contain('\u001b');
  });

  it('is omitted for a server of an earlier release, and after an interruption', async () => {
    expect(await staleStates(undefined, failing('Unimplemented'))).to.equal(undefined);
    expect(await staleStates(AbortSignal.abort(), failing('Cancelled'))).to.equal(undefined);
  });
});
