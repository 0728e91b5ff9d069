import { expect } from 'chai';
import { after, known, promised, recovered, together } from './later.js';

const failure = new Error('no');
const thrown = (): never => {
  throw failure;
};

describe('a value or its promise', () => {
  it('is known at once if its promise was created from it', async () => {
    const found: unknown[] = [];
    const result = after(known(1), (one) => after(2, (two) => found.push(one, two)));
    expect([found, result]).to.deep.equal([[1, 2], 2]);
    expect(await known(undefined)).to.equal(undefined);
    expect(after(known(undefined), (value) => value ?? 'absent')).to.equal('absent');
    expect(
      after(
        promised(() => known(3)),
        (value) => value,
      ),
    ).to.equal(3);
  });

  it('is awaited otherwise, also if it is a thenable of another library', async () => {
    const thenable = { then: (resolve: (value: boolean) => void) => resolve(false) };
    for (const given of [Promise.resolve(false), thenable as unknown as Promise<boolean>]) {
      const result = after(given, (allowed) => (allowed ? 'allowed' : 'refused'));
      expect(result).to.be.instanceOf(Promise);
      expect(await result).to.equal('refused');
    }
  });

  it('is recovered from an error, whether it is thrown or rejected', async () => {
    const recover = (error: unknown): string => `recovered ${(error as Error).message}`;
    expect(recovered<string>(thrown, recover)).to.equal('recovered no');
    expect(await recovered(() => Promise.reject<string>(failure), recover)).to.equal(
      'recovered no',
    );
    expect(recovered(() => known('fine'), recover)).to.equal('fine');
    expect(await recovered(() => Promise.resolve('fine'), recover)).to.equal('fine');
    expect(() => recovered(thrown, thrown)).to.throw('no');
  });

  it('becomes a promise, which rejects with a thrown error', async () => {
    expect(await promised(() => 1)).to.equal(1);
    const error = await promised(thrown).catch((caught: unknown) => caught);
    expect(error).to.equal(failure);
  });

  it('is known together with others if all are known, and awaited otherwise', async () => {
    expect(together([known(1), known(2)])).to.deep.equal([1, 2]);
    expect(together([])).to.deep.equal([]);
    const some = together([known(1), Promise.resolve(2)]);
    expect(some).to.be.instanceOf(Promise);
    expect(await some).to.deep.equal([1, 2]);
  });
});
