import { expect } from 'chai';
import { inTurn } from './serial-work.js';

describe('serial work', () => {
  it('runs work for one key in the order of the calls, also after a failure', async () => {
    const order: string[] = [];
    const step = (name: string, fails = false) =>
      inTurn('volume', async () => {
        order.push(`${name} begins`);
        await Promise.resolve();
        order.push(`${name} ends`);
        if (fails) throw new Error(name);
        return name;
      });
    const [first, second, third] = await Promise.allSettled([
      step('first'),
      step('second', true),
      step('third'),
    ]);
    expect([first?.status, second?.status, third?.status]).to.deep.equal([
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(order).to.deep.equal(
      ['first', 'second', 'third'].flatMap((name) => [`${name} begins`, `${name} ends`]),
    );
  });

  it('does not delay work for another key', async () => {
    let release = (): void => undefined;
    const held = inTurn('one', () => new Promise<void>((resolve) => (release = resolve)));
    expect(await inTurn('two', async () => 'done')).to.equal('done');
    release();
    await held;
  });
});
