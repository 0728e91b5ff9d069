import { expect } from 'chai';
import { type EffectRecord, effectsIn, effectViolations } from './effect-shape.js';

const whole = { idempotencyKey: 'k', controller: 'lamp', key: 'hall', startedAt: 1 };

/** A record with effects as a client or an earlier release may have written them. */
function recordOf(effects: unknown): EffectRecord {
  return { name: 'uid', of: 'Lamp', key: 'hall', effects } as EffectRecord;
}

describe('effects of a record', () => {
  it('are accepted in every phase', () => {
    const effects = {
      a: { phase: 'called', ...whole },
      b: { phase: 'pending', operationId: 'op', ...whole },
      c: { phase: 'done', result: { lit: true }, ...whole },
      d: { phase: 'done', ...whole },
      e: { phase: 'failed', reason: 'Dark', message: 'no light', ...whole },
    };
    expect(effectViolations(recordOf(effects))).to.deep.equal([]);
    expect(effectsIn(recordOf(effects))).to.deep.equal(effects);
  });

  it('are refused by name and omitted if a controller could not continue them', () => {
    const bad: readonly unknown[] = [
      null,
      7,
      [],
      {},
      { ...whole, phase: 'toString' },
      { ...whole, phase: 'pending' },
      { ...whole, phase: 'failed', reason: 'Dark' },
      { ...whole, phase: 'called', key: 7 },
      { ...whole, phase: 'called', controller: undefined },
      { ...whole, phase: 'called', startedAt: '1' },
    ];
    const good = { phase: 'called', ...whole };
    for (const state of bad) {
      const record = recordOf({ good, bad: state });
      const fields = effectViolations(record).map(({ field }) => field);
      expect(fields, JSON.stringify(state)).to.deep.equal(['effects.bad']);
      expect(effectsIn(record), JSON.stringify(state)).to.deep.equal({ good });
    }
  });

  it('are empty for a record without effects', () => {
    expect(effectsIn(undefined)).to.deep.equal({});
    expect(effectsIn(recordOf(null))).to.deep.equal({});
  });
});
