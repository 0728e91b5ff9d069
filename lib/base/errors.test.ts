import { expect } from 'chai';
import { invalid } from './errors.js';
import { limits } from './limits.js';

describe('an error for violations', () => {
  it('lists the first violations up to the limit, and the number of the others', () => {
    const found = Array.from({ length: 60_000 }, (_, n) => ({ field: `f${n}`, description: 'x' }));
    const { violations, message } = invalid(found);
    expect(violations).to.have.length(limits.violationsMax + 1);
    expect(violations.at(-1)).to.deep.equal({
      field: '(object)',
      description: 'and 59000 more that are not listed',
    });
    expect(message).to.match(/^f0: x; .*and 59000 more that are not listed$/);
    expect(invalid(found.slice(0, limits.violationsMax)).violations).to.have.length(
      limits.violationsMax,
    );
  });
});
