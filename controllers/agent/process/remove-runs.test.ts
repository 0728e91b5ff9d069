import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeDuringLinkSwap } from '@kedge/driver-sdk/conformance';
import { expect } from 'chai';
import { removeRuns } from './remove-runs.js';

describe('the removal of the runs of a workload', () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-runs-'));
  });
  afterEach(() => rm(base, { recursive: true }));

  for (const place of ['temporary/tmp', 'temporary/var/tmp'])
    it(`follows no link that a user who has a directory of ${place} open puts there meanwhile`, async () => {
      const workload = join(base, 'workload');
      const own = join(workload, 'run-1', place);
      await removeDuringLinkSwap(own, join(base, 'victim'), () => removeRuns(workload));
      await removeRuns(workload);
      expect(existsSync(workload)).to.equal(false);
    });
});
