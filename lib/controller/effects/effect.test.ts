import { expect } from 'chai';
import { requireAnswer } from './effect.js';

type Answer = Parameters<typeof requireAnswer>[2];

describe('answers of an operation', () => {
  const wrong: readonly { readonly step: 'start' | 'poll'; answer: unknown; message: string }[] = [
    {
      step: 'start',
      answer: { type: 'started', operationId: '' },
      message: 'as operation id an empty text; return',
    },
    {
      step: 'start',
      answer: { type: 'started', operationId: 7 },
      message: 'as operation id a value of type number',
    },
    { step: 'start', answer: { type: 'unknown' }, message: 'answered a value of type object' },
    {
      step: 'poll',
      answer: { type: 'pending', pollAfterMs: 1 },
      message: 'has pollAfterMs 1; give',
    },
    { step: 'poll', answer: { type: 'pending', pollAfterMs: NaN }, message: 'has pollAfterMs NaN' },
    { step: 'poll', answer: undefined, message: 'answered undefined; give an object whose type' },
  ];
  for (const { step, answer, message } of wrong)
    it(`${step} with ${JSON.stringify(answer)} is refused with the names of effect and step`, () => {
      const refused = (): unknown => requireAnswer('make', step, answer as Answer);
      expect(refused).to.throw(TypeError, message);
      expect(refused).to.throw(TypeError, `effect "make": ${step} `);
    });

  it('invalid ones are not quoted: they may contain secrets', () => {
    const secret = 'hunter2';
    const answers = [
      secret,
      [secret],
      { token: secret },
      { type: secret },
      { type: 'pending', pollAfterMs: secret },
      { type: 'started', operationId: { token: secret } },
      { type: 'started', operationId: '7', pollAfterMs: secret },
    ];
    for (const answer of answers)
      for (const step of ['start', 'poll'] as const) {
        const refused = (): unknown => requireAnswer('make', step, answer as Answer);
        expect(refused, JSON.stringify(answer)).to.throw(TypeError, /^(?!.*hunter2)/);
      }
  });

  it('valid ones are returned unchanged', () => {
    const started = { type: 'started', operationId: '7', pollAfterMs: 100 } as const;
    expect(requireAnswer('make', 'start', started)).to.equal(started);
  });
});
