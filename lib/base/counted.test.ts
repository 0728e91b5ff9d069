import { expect } from 'chai';
import { counted } from './counted.js';

describe('counted', () => {
  for (const [count, one, many, text] of [
    [0, 'object', undefined, '0 objects'],
    [1, 'object', undefined, '1 object'],
    [2, 'object', undefined, '2 objects'],
    [1n, 'byte', undefined, '1 byte'],
    [2n ** 60n, 'byte', undefined, '1152921504606846976 bytes'],
    [1, 'more range', undefined, '1 more range'],
    [1, 'class', 'classes', '1 class'],
    [2, 'class', 'classes', '2 classes'],
    [1, 'object was', 'objects were', '1 object was'],
  ] as const)
    it(`writes ${text}`, () => {
      expect(counted(count, one, many)).to.equal(text);
    });
});
