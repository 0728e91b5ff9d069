import { expect } from 'chai';
import { objectsNamedBy } from './targets.js';

function refusalOf(words: readonly string[]): string {
  try {
    objectsNamedBy(words);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'no refusal';
}

describe('objects named on the command line', () => {
  it('need a name, in a form that the same types accept', () => {
    expect(refusalOf(['volumes'])).to.contain('use volumes NAME, or volume/NAME');
    const several = refusalOf(['volumes,services']);
    expect(several).to.contain('a name is missing: use volume/NAME');
    expect(several).not.to.contain('volumes,services NAME');
  });
});
