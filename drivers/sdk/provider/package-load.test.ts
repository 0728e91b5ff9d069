import { expect } from 'chai';
import type { Driver } from '../contract/driver.js';
import { inTurns, loadedFirst, once } from './package-load.js';

describe('the load of a package', () => {
  it('yields to other work between its steps, and skips a step that fails', async () => {
    const seen: string[] = [];
    const other = (): void => {
      seen.push('other');
      if (seen.length < 8) setImmediate(other);
    };
    setImmediate(other);
    const step = (name: string) => () => seen.push(name);
    const fails = (): never => {
      throw new Error('absent');
    };
    await inTurns([step('a'), fails, step('b')]);
    expect(seen.filter((each) => each !== 'other')).to.deep.equal(['a', 'b']);
    expect(seen.indexOf('b') - seen.indexOf('a')).to.be.above(1);
  });

  it('happens once for calls at the same time, and again after a failure', async () => {
    let count = 0;
    const load = once(() => {
      count += 1;
      return count === 1 ? Promise.reject(new Error('absent')) : Promise.resolve(count);
    });
    const both = await Promise.allSettled([load(), load()]);
    expect(both.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    expect(await Promise.all([load(), load()])).to.deep.equal([2, 2]);
  });

  it('precedes each call, which is made also if the load fails', async () => {
    const seen: string[] = [];
    const plain = {
      delete: () => {
        seen.push('delete');
        return Promise.resolve();
      },
    } as unknown as Driver;
    const driver = loadedFirst(plain, () => {
      seen.push('load');
      return Promise.reject(new Error('absent'));
    });
    await driver.delete({} as Parameters<Driver['delete']>[0]);
    expect(seen).to.deep.equal(['load', 'delete']);
    expect(driver.check).to.equal(undefined);
  });
});
