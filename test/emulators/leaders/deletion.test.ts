import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { driverNames, EmulatedCloud } from '../sweep/emulated-cloud.js';
import { type Deletion, runDeletion, type Trouble, troubles } from './deletion.js';
import { seed } from '../../fixtures/seed.js';

/** Number of takeovers of each driver; `all` of them as a soak. */
const wanted = process.env['KEDGE_TAKEOVERS'] ?? '12';
const names = Object.keys(troubles) as readonly Trouble[];
/**
 * Troubles that a provider can't have: `renamed` without a call that renames, and `second` if names are unique in the
 * account.
 */
const impossible = {
  cloud1: ['renamed'],
  cloud2: ['second'],
  cloud3: [],
  cloud4: ['renamed'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

for (const provider of ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const)
  describe(`${driverNames[provider]}: a deletion without a handle, over HTTP`, function () {
    this.timeout(3_600_000);
    let folder: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kedge-deletions-'));
      const first = new EmulatedCloud(provider, folder);
      await first.loadSdk();
      await first.emulator.close();
    });
    after(() => rm(folder, { recursive: true, force: true }));

    const one = async (deletion: Deletion) =>
      runDeletion(provider, await mkdtemp(join(folder, 'disks-')), deletion);
    const possible = (what: Deletion['what']): readonly Trouble[] =>
      names.filter((name) => {
        const { type } = troubles[name];
        if (what === 'snapshot') return type !== 'renamed' && type !== 'second';
        return !(impossible[provider] as readonly string[]).includes(type);
      });
    const kinds: readonly Deletion['what'][] =
      provider === 'cloud2' ? ['volume'] : ['volume', 'snapshot'];
    const steps = new Map<string, number>();

    for (const what of kinds)
      for (const trouble of possible(what))
        it(`of a ${what} that ${trouble} ends with its ${what} gone, and nothing else`, async () => {
          const found = await one({ what, trouble });
          expect(found.problems.join('\n')).to.equal('');
          steps.set(`${what} ${trouble}`, found.steps.length);
        });

    it('ends so if its process is killed or replaced at any step', async () => {
      const all: Deletion[] = [];
      for (const what of kinds)
        for (const trouble of possible(what))
          for (let at = 1; at <= (steps.get(`${what} ${trouble}`) ?? 0); at += 1)
            for (const end of ['killed', 'beside'] as const)
              for (const moment of ['before', 'after'] as const)
                all.push({ what, trouble, takeover: { end, moment, at } });
      const every = wanted === 'all' ? 1 : Math.max(1, Math.ceil(all.length / Number(wanted)));
      const chosen = all.filter((_, n) => n % every === seed % every);
      const problems: string[] = [];
      for (const deletion of chosen) {
        const { steps: done, problems: found } = await one(deletion);
        const { what, trouble, takeover } = deletion;
        const label = `${what} that ${trouble}, ${takeover?.end} ${takeover?.moment} step ${takeover?.at} (${done.at(-1)})`;
        problems.push(...found.map((text) => `${label}: ${text}`));
      }
      console.log(`      ${chosen.length} of ${all.length} takeovers, KEDGE_SEED=${seed}`);
      expect(problems.join('\n')).to.equal('');
    });
  });
