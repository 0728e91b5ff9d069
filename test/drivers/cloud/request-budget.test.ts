import { expect } from 'chai';
import type { DriverError } from '@kedge/driver-sdk';
import { pauseOn, RequestBudget } from '@kedge/driver-sdk/provider';
import { FakeClock } from 'kedge/testing';

const { signal } = new AbortController();

describe('the request budget of a credential', () => {
  let clock: FakeClock;
  let budget: RequestBudget;
  beforeEach(() => {
    clock = new FakeClock();
    // 3,750 requests of an hour with a share of 0.96: one a second.
    budget = new RequestBudget(clock, { perHour: 3_750, burstShare: 0.004 });
  });

  /** Takes one; the clock moves while it waits. */
  const taken = async (): Promise<string> => {
    let outcome = 'waits';
    const call = budget.take(signal).then(
      () => (outcome = 'taken'),
      (error: unknown) => (outcome = `refused for ${(error as DriverError).retryAfterMs ?? 0}`),
    );
    await clock.advance(0);
    if (outcome === 'waits') await clock.advance(1_000);
    await call;
    return outcome;
  };

  it('gives the burst at once, then one request an interval, in order', async () => {
    expect(budget.left).to.equal(15);
    for (let n = 0; n < 15; n += 1) expect(await taken()).to.equal('taken');
    expect(budget.left).to.equal(0);
    const before = clock.now();
    expect(await taken()).to.equal('taken');
    expect(clock.now() - before).to.equal(1_000);
  });

  it('refuses a request that would wait long, and spreads the retries', async () => {
    for (let n = 0; n < 15; n += 1) await taken();
    void budget.take(signal);
    expect(await taken()).to.equal('refused for 2000');
    expect(await taken()).to.equal('refused for 4000');
    expect(await taken()).to.equal('refused for 6000');
  });

  it('completes a call that was admitted: its further requests wait longer', async () => {
    for (let n = 0; n < 15; n += 1) await taken();
    void budget.take(signal);
    expect(await taken()).to.equal('refused for 2000');
    let isTaken = false;
    void budget.take(signal, true).then(() => (isTaken = true));
    await clock.advance(2_000);
    expect(isTaken).to.equal(true);
  });

  it('admits waiting requests one by one after a refusal by the provider', async () => {
    budget.close(5_000);
    expect(await taken()).to.equal('refused for 5000');
    await clock.advance(5_000);
    expect(await taken()).to.equal('taken');
    expect(budget.left).to.equal(0);
    const before = clock.now();
    expect(await taken()).to.equal('taken');
    expect(clock.now() - before).to.equal(1_000);
  });

  it('has no more than the provider reports as left, and follows another limit', async () => {
    budget.observe(2);
    expect(budget.left).to.equal(2);
    budget.adapt(3_750_000);
    budget.observe(15_000);
    expect(budget.left).to.be.greaterThan(10_000);
  });

  it('ends a wait that is cancelled', async () => {
    for (let n = 0; n < 15; n += 1) await taken();
    const abort = new AbortController();
    const waiting = budget
      .take(abort.signal)
      .catch((error: unknown) => (error as DriverError).kind);
    abort.abort();
    expect(await waiting).to.equal('Timeout');
    expect(clock.pending).to.equal(0);
  });

  it('does not exceed the limit in an hour with 20 callers that retry', async () => {
    let total = 0;
    let isOver = false;
    const caller = async (): Promise<void> => {
      const { signal } = new AbortController();
      while (!isOver) {
        const refused = await budget.take(signal).then(
          () => undefined,
          (error: unknown) => error as DriverError,
        );
        if (refused === undefined) total += 1;
        else await pauseOn(clock, refused.retryAfterMs ?? 0, signal);
      }
    };
    const callers = Array.from({ length: 20 }, caller);
    await clock.advance(3_600_000);
    isOver = true;
    await clock.advance(60_000);
    await Promise.all(callers);
    expect(total).to.be.within(3_500, 3_750);
  });

  it('leaves half of the burst to others in background calls, whose refusals delay no other retry', async () => {
    const background = (): Promise<string> =>
      budget.take(signal, false, true).then(
        () => 'taken',
        (error: unknown) => `refused for ${(error as DriverError).retryAfterMs ?? 0}`,
      );
    for (let n = 0; n < 8; n += 1) expect(await background()).to.equal('taken');
    expect(budget.left).to.equal(7);
    const refused = await Promise.all([background(), background()]);
    expect(new Set(refused).size, String(refused)).to.equal(2);
    for (const text of refused) expect(text).to.match(/^refused for [3-6]\d{4}$/);
    for (let n = 0; n < 7; n += 1) expect(await taken()).to.equal('taken');
    void budget.take(signal);
    expect(await taken()).to.equal('refused for 2000');
    // A background call that was admitted is completed.
    let isTaken = false;
    void budget.take(signal, true, true).then(() => (isTaken = true));
    await clock.advance(2_000);
    expect(isTaken).to.equal(true);
    await clock.advance(60_000);
    expect(await background()).to.equal('taken');
  });
});
