import { expect } from 'chai';
import { castItems } from './cast-items.js';

describe('a cast file', () => {
  it('with an alias that can not be resolved is refused with file and line', () => {
    const bomb = `a: &a [x, x]\n${'bcdefghij'
      .split('')
      .map((name, n) => `${name}: &${name} [${`*${'abcdefghij'[n]}, `.repeat(9)}x]`)
      .join('\n')}\n`;
    for (const text of ['kind: Volume\nname: *nothing\n', `kind: Volume\n${bomb}`])
      expect(() => castItems(text, 'a.yaml')).to.throw(
        /^a\.yaml:1: .*alias.*; write the value itself instead of the alias$/i,
      );
  });

  it('with a key that is the name of an inherited member of objects is refused like any unknown key', () => {
    for (const key of ['constructor', 'toString', 'valueOf'])
      expect(() => castItems(`${key}:\n  name: x\n`, 'a.yaml')).to.throw(
        `"${key}" is not expected here`,
      );
  });
});
