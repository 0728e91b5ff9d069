import { expect } from 'chai';
import { credentialForms } from '@kedge/driver-sdk/parameters';
import { mergeWithClass } from './credential-merge.js';

type Parameters = Readonly<Record<string, string>>;

/** All parameters of keys, with values that name their place. */
function valuesOf(keys: readonly string[], place: string): Parameters {
  return Object.fromEntries(keys.map((key) => [key, `${place} ${key}`]));
}

// drivers/credentials.test.ts finds each cloud driver's credentials among these.
describe('the parameters of a class and its volume, with credentials of each form', () => {
  for (const [name, declared] of Object.entries(credentialForms)) {
    const { keys } = declared;
    const whole: readonly (readonly string[])[] = declared.whole;
    const ofClass = { region: 'r', ...valuesOf(keys, 'class') };

    it(`${name}: each complete credential of a volume is used alone`, () => {
      for (const set of whole) {
        const own = valuesOf(set, 'own');
        expect(mergeWithClass(declared, ofClass, own)).to.deep.equal({ region: 'r', ...own });
      }
    });

    it(`${name}: without a complete one, or with empty values, those of the class complete it`, () => {
      const parts = keys.filter((key) => !whole.some((set) => set.length === 1 && set[0] === key));
      for (const own of [...parts.map((key) => ({ [key]: 'own' })), {}, { fsType: 'xfs' }])
        expect(mergeWithClass(declared, ofClass, own)).to.deep.equal({ ...ofClass, ...own });
      for (const [first = ''] of whole)
        expect(mergeWithClass(declared, ofClass, { [first]: '' })).to.deep.equal({
          ...{ ...ofClass, [first]: '' },
        });
    });
  }
});
