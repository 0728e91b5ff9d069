import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { SharedCall } from './shared-call.js';

describe('a shared call', () => {
  interface Made {
    readonly resolve: (answer: string) => void;
    readonly reject: (error: Error) => void;
  }
  const made: Made[] = [];
  const call = new SharedCall(
    () => new Promise<string>((resolve, reject) => void made.push({ resolve, reject })),
  );
  const begun = (count: number): Promise<unknown> =>
    eventually(`${count} calls`, () => made.length === count);
  beforeEach(() => void made.splice(0));

  it('returns the answer of the next call to all callers that come while one is in progress', async () => {
    const first = call.ask();
    const [second, third] = [call.ask(), call.ask()];
    expect(made).to.have.length(1);
    made[0]!.resolve('old');
    expect(await first).to.equal('old');
    await begun(2);
    made[1]!.resolve('new');
    expect(await Promise.all([second, third])).to.deep.equal(['new', 'new']);
    const fourth = call.ask();
    expect(made).to.have.length(3);
    made[2]!.resolve('newest');
    expect(await fourth).to.equal('newest');
  });

  it('that fails rejects for the callers that share it, and the next call is made', async () => {
    const outcomes = Promise.allSettled([call.ask(), call.ask(), call.ask()]);
    made[0]!.reject(new Error('first'));
    await begun(2);
    made[1]!.reject(new Error('second'));
    const reasons = (await outcomes).map(
      (outcome) => outcome.status === 'rejected' && String(outcome.reason),
    );
    expect(reasons).to.deep.equal(['Error: first', 'Error: second', 'Error: second']);
    const after = call.ask();
    made[2]!.resolve('well');
    expect(await after).to.equal('well');
  });
});
