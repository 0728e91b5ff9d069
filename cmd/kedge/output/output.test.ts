import { expect } from 'chai';
import { table } from './output.js';

describe('a table', () => {
  it('prints cells with dollar signs as they are, such as those of shell commands', () => {
    for (const text of ["sh -c 'kill $$'", 'cost $& x', "a $' b", 'a $` b', '$1 $<name>'])
      expect(table([['MESSAGE'], [text]])).to.equal(`MESSAGE\n${text}`);
  });
});
