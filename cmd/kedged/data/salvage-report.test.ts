import { expect } from 'chai';
import type { Salvaged } from 'kedge';
import { lossLines } from './salvage-report.js';

function salvaged(parts: object): Salvaged {
  const losses = { revisions: [], endKnown: true };
  const whole = { objects: [{}], records: 1, damagedRecords: 0, damagedFiles: [], clusterId: 'c' };
  return { ...whole, losses, ...parts } as unknown as Salvaged;
}

describe('the report of a salvage', () => {
  for (const [what, parts, line] of [
    ['one object and one record', {}, '1 object in 1 record; nothing is lost'],
    ['two of both', { objects: [{}, {}], records: 2 }, '2 objects in 2 records; nothing is lost'],
    ['one damaged record', { damagedRecords: 1 }, "Damaged: 1 record that can't be decoded"],
    [
      'one object in a store without an identity record',
      { clusterId: undefined },
      '1 object in 1 readable record',
    ],
    [
      'one range more than it shows',
      {
        losses: {
          revisions: Array.from({ length: 21 }, (_, n) => ({ first: 2 * n, last: 2 * n })),
          endKnown: true,
          atMark: { same: true, found: 1, expected: 1, revision: 1 },
        },
      },
      '38 and 1 more range',
    ],
  ] as const)
    it(`counts ${what}`, () => {
      const lines = lossLines(salvaged(parts));
      expect(lines.some((each) => each.endsWith(line))).to.equal(true, lines.join('\n'));
    });
});
