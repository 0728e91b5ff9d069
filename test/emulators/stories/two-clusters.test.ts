import { expect } from 'chai';
import { rateStatus } from '../sweep/emulated-cloud.js';
import { CloudWorld } from './cloud-world.js';
import { half } from '../../fixtures/seed.js';

const count = 100;
type Json = Readonly<Record<string, unknown>>;

async function volumesOf(cloud: CloudWorld): Promise<readonly Json[]> {
  const { items = [] } = await cloud.ok('GET', '/namespaces/shop/volumes?limit=500');
  return items as readonly Json[];
}

/** The part of a handle that names a disk in the provider's inventory. */
function diskOf(handle: unknown): string {
  return String(handle).split('/').at(-1) ?? '';
}

for (const provider of half('two clusters', ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const))
  describe(`two clusters with one token of ${provider}`, function () {
    this.timeout(300_000);
    const worlds: CloudWorld[] = [];
    afterEach(async () => {
      for (const one of worlds.splice(0)) await one.stop();
    });

    it(`have ${count} volumes each, and neither adopts or deletes one of the other`, async () => {
      const first = await CloudWorld.start(provider, { clusterId: 'first', volumesMax: 2 * count });
      const second = await CloudWorld.start(provider, { clusterId: 'second', beside: first });
      worlds.push(first, second);
      // Objects of the same names, one credential and one rate limit.
      for (const cloud of worlds) {
        await cloud.secret('cloud', cloud.credential('first'));
        await cloud.storageClass();
        for (let n = 0; n < count; n += 1) await cloud.volume(`v${n}`);
      }
      const available = (cloud: CloudWorld): Promise<readonly Json[]> =>
        cloud.until(`${count} volumes`, async () => {
          const found = await volumesOf(cloud);
          return found.every(({ status }) => status === 'Available') && found;
        });
      const began = first.world.clock.now();
      const handlesOf = async (cloud: CloudWorld): Promise<readonly string[]> =>
        (await available(cloud)).map(({ handle }) => diskOf(handle));
      const mine = await handlesOf(first);
      const theirs = await handlesOf(second);
      const tookS = (first.world.clock.now() - began) / 1_000;
      const { emulator } = first;
      const refused = emulator.requests.filter(
        ({ status }) => status === rateStatus[provider],
      ).length;
      console.log(`      ${emulator.requests.length} requests, ${refused} refused, ${tookS} s`);
      expect(new Set([...mine, ...theirs]).size, 'a volume of both').to.equal(2 * count);
      const existing = async (): Promise<readonly string[]> =>
        (await first.existing('volume')).map(
          // A handle of cloud4 ends with the name of the disk, those of others are ids.
          (line) => line.split(' ')[provider === 'cloud4' ? 2 : 1] ?? '',
        );
      expect(await existing()).to.have.members([...mine, ...theirs]);

      for (let n = 0; n < count; n += 1) await first.remove(`/namespaces/shop/volumes/v${n}`);
      await first.until('no volume', async () => (await volumesOf(first)).length === 0);
      expect(await existing()).to.have.members([...theirs]);
      const left = await volumesOf(second);
      expect(left.map(({ handle }) => diskOf(handle))).to.have.members([...theirs]);
      expect(left.filter(({ status }) => status !== 'Available')).to.deep.equal([]);
    });
  });
