import { expect } from 'chai';
import type { Service } from './kind.js';
import { mountViolations } from './mount-rules.js';

const withFiles = (...paths: string[]): Service =>
  ({
    name: 's',
    namespace: 'default',
    configmapMounts: [
      { name: 'c', mountPath: '/c', items: paths.map((path) => ({ key: 'k', path })) },
    ],
  }) as unknown as Service;
const violations = (...paths: string[]): readonly string[] =>
  mountViolations(withFiles(...paths)).map(({ field, description }) => `${field}: ${description}`);

describe('files of a mounted configmap', () => {
  const at = (n: number): string => `configmapMounts[0].items[${n}].path`;

  it('each have a different path', () => {
    expect(violations('a', 'b', 'a')).to.deep.equal([`${at(2)}: "a" is used twice`]);
    expect(violations('a/b', 'a/c', 'a/b')).to.deep.equal([`${at(2)}: "a/b" is used twice`]);
    expect(violations('a/b', 'a/c', 'ab', 'a/bc', 'b/a')).to.deep.equal([]);
  });

  it('are not in the place of a folder of another, in either order', () => {
    expect(violations('a', 'a/b/c')).to.deep.equal([
      `${at(1)}: "a/b/c" conflicts with the file "a"`,
    ]);
    expect(violations('a/b/c', 'x', 'a/b')).to.deep.equal([
      `${at(2)}: "a/b" conflicts with the file "a/b/c"`,
    ]);
  });

  it('are validated without pairwise comparison', () => {
    let compared = 0;
    const startsWith = Object.getOwnPropertyDescriptor(String.prototype, 'startsWith')!;
    const original = startsWith.value as typeof String.prototype.startsWith;
    Object.defineProperty(String.prototype, 'startsWith', {
      ...startsWith,
      value(this: string, ...args: [string]) {
        compared += 1;
        return original.apply(this, args);
      },
    });
    try {
      expect(violations(...Array.from({ length: 1_000 }, (_, n) => `f${n}`))).to.deep.equal([]);
    } finally {
      Object.defineProperty(String.prototype, 'startsWith', startsWith);
    }
    expect(compared).to.be.below(10_000);
  });
});
