import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { seededRandom } from 'kedge';
import { root } from '../acceptance/daemon.js';
import { problemOfApplying, readKeptDefects } from './kept-defects.js';
import { SourceCopy } from './source-copy.js';
import { seed, shuffled } from '../fixtures/seed.js';

/** Number of defects that are tested unless all are requested. */
const sampleSize = 2;

describe('kept defects', () => {
  const defects = readKeptDefects();

  it('apply to the sources as they are, and name a test file that exists', () => {
    for (const defect of defects) {
      expect(problemOfApplying(defect, root), defect.file).to.equal(undefined);
      expect(existsSync(join(root, defect.spec)), `${defect.file}: ${defect.spec}`).to.equal(true);
    }
  });

  it('are detected by their tests once they are put back', async function () {
    const all = process.env['KEDGE_FINDINGS'] === 'all';
    if (!all && !process.env['CI']) {
      console.log('    skipped: it builds a copy; npm run soak -- findings runs it');
      this.skip();
    }
    this.timeout(0);
    const order = shuffled(defects, seededRandom(seed));
    /** Names of the only defects to test, separated by commas. */
    const only = process.env['KEDGE_FINDING']?.split(',');
    const chosen = order
      .slice(0, all ? order.length : sampleSize)
      .filter(({ name }) => only === undefined || only.includes(name));
    console.log(`    ${chosen.length} of ${defects.length} kept defects, seed ${seed}`);
    const copy = await SourceCopy.make();
    const unnoticed: string[] = [];
    try {
      expect(copy.problemOfBuilding()).to.equal(undefined);
      for (const defect of chosen) {
        // A pattern that selects no test, or a test that fails without the defect, would be no evidence.
        const sound = await copy.test(defect);
        if (sound.passes === 0 || sound.failures > 0)
          unnoticed.push(`${defect.name}: without it ${JSON.stringify(sound)}`);
      }
      for (const defect of chosen) {
        copy.apply(defect);
        const problem = copy.problemOfBuilding();
        const { failures } = problem === undefined ? await copy.test(defect) : { failures: 0 };
        console.log(`    ${failures > 0 ? 'red' : 'GREEN'} ${defect.name}`);
        if (failures === 0)
          unnoticed.push(`${defect.name}: ${problem ?? 'its tests pass with it'}`);
        copy.apply(defect, true);
      }
    } finally {
      await copy.dispose();
    }
    expect(unnoticed).to.deep.equal([]);
  });
});
