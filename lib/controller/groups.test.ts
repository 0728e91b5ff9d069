import { expect } from 'chai';
import { FakeClock, settle } from '../testing/index.js';
import { done, newController } from './index.js';

describe('the groups of a controller', () => {
  it('are computed again when its workers start, because the caches are filled by then', async () => {
    let isKnown = false;
    const runs: string[] = [];
    const ends: (() => void)[] = [];
    const controller = newController({
      name: 'lamp',
      clock: new FakeClock(),
      concurrency: 4,
      groupOf: ({ name }) => (isKnown ? name.slice(0, 1) : ''),
      groupConcurrency: 1,
      reconcile: async ({ key }) => {
        runs.push(key.name);
        await new Promise<void>((resolve) => {
          ends.push(resolve);
        });
        return done();
      },
    });
    for (const name of ['a1', 'a2', 'b1']) controller.enqueue({ name });
    isKnown = true;
    await controller.start();
    await settle();
    expect(runs).to.deep.equal(['a1', 'b1']);
    for (const end of ends.splice(0)) end();
    await settle();
    expect(runs).to.deep.equal(['a1', 'b1', 'a2']);
    for (const end of ends) end();
    await controller.stop(0);
  });
});
