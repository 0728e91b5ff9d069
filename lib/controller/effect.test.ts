import { expect } from 'chai';
import { requireAnswer } from './effect.js';

type Answer = Parameters<typeof requireAnswer>[2];

describe('answers of an operation', () => {
  const wrong: readonly { readonly step: 'start' | 'poll'; answer: unknown; says: string }[] = [
    { step: 'start', answer: { type: 'started', operationId: '' }, says: 'the operation id ""' },
    { step: 'start', answer: { type: 'started', operationId: 7 }, says: 'the operation id 7' },
    { step: 'start', answer: { type: 'unknown' }, says: 'answered {"type":"unknown"}' },
    { step: 'poll', answer: { type: 'pending', pollAfterMs: 1 }, says: 'pollAfterMs 1; give' },
    { step: 'poll', answer: { type: 'pending', pollAfterMs: NaN }, says: 'pollAfterMs NaN' },
    { step: 'poll', answer: undefined, says: 'answered undefined; give an object whose type' },
  ];
  for (const { step, answer, says } of wrong)
    it(`${step} with ${JSON.stringify(answer)} is refused by effect and step`, () => {
      const refused = (): unknown => requireAnswer('make', step, answer as Answer);
      expect(refused).to.throw(TypeError, says);
      expect(refused).to.throw(TypeError, `effect "make": ${step} `);
    });

  it('right ones are given back as they are', () => {
    const started = { type: 'started', operationId: '7', pollAfterMs: 100 } as const;
    expect(requireAnswer('make', 'start', started)).to.equal(started);
  });
});
