import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';
import { readFindingRows } from './findings-table.js';
import { readKeptDefects } from './kept-defects.js';

/** Numbers of the findings in a part: D1 to D24. */
const numbers = (letter: string, last: number): readonly string[] =>
  Array.from({ length: last }, (_, n) => `${letter}${n + 1}`);

describe('the table of findings in access and commands', () => {
  const rows = readFindingRows('access-and-commands.md');
  const defects = new Map(readKeptDefects().map((defect) => [defect.name, defect]));

  it('has one row for each finding', () => {
    const ids = rows.map(({ id }) => id);
    for (const id of [...numbers('D', 24), ...numbers('U', 13)])
      expect(
        ids.filter((each) => each === id),
        id,
      ).to.have.length(1);
  });

  it('names tests that exist', () => {
    for (const { id, tests } of rows) {
      expect(tests, id).to.not.be.empty;
      for (const file of tests)
        expect(existsSync(join(root, file)), `${id}: ${file}`).to.equal(true);
    }
  });

  it('names patches that exist and whose tests are in the row, or the reason why there is none', () => {
    for (const { id, tests, patches, withoutPatch } of rows) {
      if (withoutPatch !== undefined) expect(withoutPatch, id).to.match(/\w+ \w+/);
      else expect(patches, id).to.not.be.empty;
      const built = tests.map((file) => file.replace(/\.ts$/, '.js'));
      for (const patch of patches) {
        const spec = defects.get(patch)?.spec.replace('/dist/', '/');
        expect(spec, `${id}: ${patch}`).to.not.equal(undefined);
        expect(built, `${id}: ${patch}`).to.include(spec);
      }
    }
  });
});
