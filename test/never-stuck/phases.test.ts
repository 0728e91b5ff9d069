import { expect } from 'chai';
import { allKinds } from '@kedge/controllers';
import { phasesOf } from './cases.js';
import { otherFields, type Subject } from './references.js';

describe('the phases of the cases', () => {
  for (const subject of Object.keys(otherFields) as Subject[]) {
    const states = allKinds.find(({ kind }) => kind === subject)?.states;
    if (!states) continue;
    it(`are the states of ${subject}`, () => {
      const { field, initial, transitions } = states;
      expect(field).to.equal('status');
      const targets = Object.values(transitions).flat();
      const all = new Set([initial, ...Object.keys(transitions), ...targets]);
      expect([...phasesOf(subject)].sort()).to.deep.equal([...all].sort());
    });
  }

  it('are those of at least three kinds with a table', () => {
    const subjects = Object.keys(otherFields);
    const tables = allKinds.filter(({ kind, states }) => states && subjects.includes(kind));
    expect(tables.map(({ kind }) => kind)).to.include.members(['Volume', 'Snapshot', 'Namespace']);
  });
});
