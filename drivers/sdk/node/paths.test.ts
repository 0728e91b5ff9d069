import { expect } from 'chai';
import { isAtOrBelow } from './paths.js';

describe('isAtOrBelow', () => {
  it('compares whole components, also below the root directory', () => {
    const pairs = [
      ['/a', '/a', true],
      ['/a/b', '/a', true],
      ['/ab', '/a', false],
      ['/', '/a', false],
      ['/', '/', true],
      ['/a', '/', true],
      ['socket:[1]', '/', false],
      ['', '/', false],
    ] as const;
    for (const [path, directory, expected] of pairs)
      expect(isAtOrBelow(path, directory), `${path} ${directory}`).to.equal(expected);
  });
});
