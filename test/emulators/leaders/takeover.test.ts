import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { driverNames, EmulatedCloud } from '../sweep/emulated-cloud.js';
import { changes, ends, type Takeover, takeOver } from './takeover.js';
import { seed } from '../../fixtures/seed.js';

/** Number of takeovers of each driver; `all` of them as a soak. */
const wanted = process.env['KEDGE_TAKEOVERS'] ?? '20';
const moments = ['before', 'after'] as const;

for (const provider of ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const)
  describe(`${driverNames[provider]}: another leader takes over while a volume gets other parameters after a lost answer`, function () {
    this.timeout(3_600_000);
    let folder: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kedge-leaders-'));
      const first = new EmulatedCloud(provider, folder);
      await first.loadSdk();
      await first.emulator.close();
    });
    after(() => rm(folder, { recursive: true, force: true }));

    const one = async (takeover: Takeover) =>
      takeOver(provider, await mkdtemp(join(folder, 'disks-')), takeover);

    it('has one resource in the end, with its data', async () => {
      const all: Takeover[] = [];
      for (const change of changes) {
        const { steps, problems } = await one({ change, end: 'killed', moment: 'before', at: 0 });
        expect(problems).to.deep.equal([]);
        for (const end of ends)
          for (const moment of moments)
            for (let at = 1; at <= steps.length; at += 1) all.push({ change, end, moment, at });
      }
      const every = wanted === 'all' ? 1 : Math.max(1, Math.ceil(all.length / Number(wanted)));
      const chosen = all.filter((_, n) => n % every === seed % every);
      const problems: string[] = [];
      for (const takeover of chosen) {
        const { step, problems: found } = await one(takeover);
        const { change, end, moment, at } = takeover;
        const label = `${change}, ${end} ${moment} step ${at} (${step})`;
        problems.push(...found.map((text) => `${label}: ${text}`));
      }
      console.log(`      ${chosen.length} of ${all.length} takeovers, KEDGE_SEED=${seed}`);
      expect(problems.join('\n')).to.equal('');
    });
  });
