import { expect } from 'chai';
import { differences, valueAt } from './differences.js';

describe('the differences of two objects', () => {
  it('ignore the inherited members that have the name of a key', () => {
    const added = differences({ data: {} }, { data: { constructor: 'a' } });
    expect(added).to.deep.equal([{ path: 'data.constructor', after: 'a' }]);
    const removed = differences({ data: { toString: 'a' } }, { data: {} });
    expect(removed).to.deep.equal([{ path: 'data.toString', before: 'a' }]);
    expect(valueAt({ data: {} }, 'data.constructor')).to.equal(undefined);
  });
});
