import { expect } from 'chai';
import { ask } from '../core/client.js';
import { CloudWorld, tokens } from './cloud-world.js';

const count = 200;
const minuteMs = 60_000;
/** Requests that another program makes each minute with the same token. */
const foreign = { cloud1: 230, cloud2: 1_500 } as const;
const lists = { cloud1: 'GET /v2/volumes', cloud2: 'GET /v1/volumes' } as const;

for (const provider of ['cloud1', 'cloud2'] as const)
  describe(`a storm of 429 over ${count} volumes of ${provider}-volume`, function () {
    this.timeout(600_000);
    let cloud: CloudWorld;
    afterEach(() => cloud.stop());

    it('delays them, and fails none of them: all become Available without a failed attempt', async () => {
      cloud = await CloudWorld.start(provider, { volumesMax: count });
      const { emulator, world } = cloud;
      await cloud.secret('cloud', tokens.first);
      await cloud.storageClass();
      const spend = async (): Promise<void> => {
        for (let n = 0; n < foreign[provider]; n += 1)
          await ask(emulator, { call: lists[provider], token: tokens.first });
      };
      await spend();
      for (let minute = 1; minute < 5; minute += 1)
        world.clock.setTimer(() => void spend(), minute * minuteMs);
      const names = Array.from({ length: count }, (_, n) => `v${n}`);
      for (const name of names) await cloud.volume(name);
      const failed = new Set<string>();
      const began = world.clock.now();
      const all = await cloud.until(`${count} volumes`, async () => {
        const { items = [] } = await cloud.ok('GET', '/namespaces/shop/volumes?limit=500');
        const found = items as readonly Readonly<Record<string, unknown>>[];
        for (const { name, status } of found) if (status === 'Failed') failed.add(String(name));
        return found.every(({ status }) => status === 'Available') && found;
      });
      const refused = emulator.requests.filter(({ status }) => status === 429).length;
      const tookS = (world.clock.now() - began) / 1_000;
      console.log(`      ${refused} requests refused, all volumes after ${tookS} s`);
      expect(refused).to.be.above(0);
      expect(all).to.have.length(count);
      expect([...failed]).to.deep.equal([]);
      expect(all.filter(({ attempts }) => attempts !== 0)).to.deep.equal([]);
      expect(await cloud.existing('volume')).to.have.length(count);
    });
  });
