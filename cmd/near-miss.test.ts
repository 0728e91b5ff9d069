import { expect } from 'chai';
import fc from 'fast-check';
import { kindNamed } from './kedge/connection/api.js';
import { objectsNamedBy } from './kedge/connection/targets.js';
import { didYouMean, nearest } from './near-miss.js';

describe('a misspelt word', () => {
  const known = ['volumes', 'services', 'secrets', 'sc', 'nodes'];

  it('has the nearest known word as its suggestion, ignoring case', () => {
    for (const [word, meant] of [
      ['volums', 'volumes'],
      ['Volmues', 'volumes'],
      ['sevrices', 'services'],
      ['SECERTS', 'secrets'],
      ['noes', 'nodes'],
    ] as const)
      expect(nearest(word, known), word).to.equal(meant);
    expect(didYouMean('volums', known)).to.equal('; did you mean volumes?');
  });

  it('has no suggestion if too many characters differ', () => {
    for (const word of ['', 'sd', 'pods', 'deployments', 'x'.repeat(1_000_000)])
      expect(didYouMean(word, known), word.slice(0, 20)).to.equal('');
  });

  it('with at most two changes always has a suggestion', () => {
    const letters = fc.string({
      unit: fc.constantFrom('a', 'b', '-'),
      minLength: 6,
      maxLength: 40,
    });
    fc.assert(
      fc.property(letters, fc.nat(), fc.nat(), (word, first, second) => {
        const changed = [...word];
        changed.splice(first % changed.length, 1);
        changed.splice(second % changed.length, 0, 'x');
        expect(nearest(changed.join(''), ['-----------', word])).to.be.a('string');
      }),
    );
  });

  it('is refused as a kind, with the suggestion', () => {
    expect(() => kindNamed('volums')).to.throw(/"volums" is not a kind; did you mean volumes\?/);
    expect(() => kindNamed('sevice')).to.throw(/did you mean service\?/);
    expect(() => kindNamed('deployments')).to.throw(
      /"deployments" must be one of: configmaps, events, /,
    );
  });

  it('is refused as a kind, with the form of a name that lacks its kind', () => {
    expect(() => objectsNamedBy(['redis'])).to.throw(/named by TYPE\/NAME, such as service\/redis/);
    expect(() => objectsNamedBy(['redis', 'web'])).to.throw(/"redis" must be one of: [a-z, ]+$/);
  });
});
