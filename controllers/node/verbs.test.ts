import { expect } from 'chai';
import { hintsOfHidden } from './verbs.js';

describe('the description of a node with many objects', () => {
  it('names for each kind the number of omitted objects, and the command that lists them', () => {
    const instance = { kind: 'Instance' };
    const volume = { kind: 'Volume' };
    expect(hintsOfHidden([])).to.deep.equal([]);
    expect(hintsOfHidden([volume])).to.deep.equal(['volumes not shown: 1; kedge get volumes -A']);
    expect(hintsOfHidden([instance, instance, volume])).to.deep.equal([
      'instances not shown: 2; kedge get instances -A',
      'volumes not shown: 1; kedge get volumes -A',
    ]);
  });
});
