import { expect } from 'chai';
import { CloudWorld } from './cloud-world.js';
import { half } from '../../fixtures/seed.js';

const count = 100;
const rotationMs = 5_000;
const minuteMs = 60_000;
const names = ['first', 'second', 'third'] as const;
type Json = Readonly<Record<string, unknown>>;

for (const provider of half('rotations in a storm', [
  'cloud1',
  'cloud2',
  'cloud3',
  'cloud4',
] as const))
  describe(`a secret of ${provider} that changes every ${rotationMs} ms during a storm of refusals`, function () {
    this.timeout(300_000);
    let cloud: CloudWorld;
    afterEach(() => cloud.stop());

    it(`${count} volumes become Available with one resource each, and their deletions leave none`, async () => {
      cloud = await CloudWorld.start(provider, { volumesMax: count });
      const { emulator, world } = cloud;
      await cloud.secret('cloud', cloud.credential('first'));
      await cloud.storageClass();
      const began = world.clock.now();
      // Each request of every third second is refused for the rate.
      const isStorm = (): boolean =>
        Math.floor((world.clock.now() - began) / 1_000) % 3 === 0 &&
        world.clock.now() - began < 3 * minuteMs;
      emulator.faults.add({
        on: isStorm,
        times: Number.MAX_SAFE_INTEGER,
        fault: { type: 'rateLimited', retryAfterSeconds: 2 },
      });
      let rotations = 0;
      const rotate = async (): Promise<void> => {
        rotations += 1;
        await cloud.secret('cloud', cloud.credential(names[rotations % names.length]!));
      };
      const volumes = async (): Promise<readonly Json[]> => {
        const { items = [] } = await cloud.ok('GET', '/namespaces/shop/volumes?limit=500');
        return items as readonly Json[];
      };
      for (let n = 0; n < count; n += 1) await cloud.volume(`v${n}`);
      await cloud.until(`${count} volumes`, async () => {
        if (world.clock.now() - began < 3 * minuteMs) await rotate();
        const found = await volumes();
        return rotations > 20 && found.every(({ status }) => status === 'Available');
      });
      const uses = new Set(emulator.requests.map(({ token }) => token));
      console.log(
        `      ${rotations} rotations, ${emulator.requests.length} requests with ${uses.size} credentials, all after ${(world.clock.now() - began) / 1_000} s`,
      );
      expect(await cloud.existing('volume')).to.have.length(count);
      for (let n = 0; n < count; n += 1) await cloud.remove(`/namespaces/shop/volumes/v${n}`);
      await cloud.until('no volumes', async () => {
        await rotate();
        return (await volumes()).length === 0;
      });
      expect(await cloud.existing('volume')).to.deep.equal([]);
    });
  });
