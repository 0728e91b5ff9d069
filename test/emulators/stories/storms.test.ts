import { expect } from 'chai';
import { askCloud3 } from '../cloud3/client.js';
import { ask } from '../core/client.js';
import { driverNames, places, rateStatus } from '../sweep/emulated-cloud.js';
import { CloudWorld, tokens } from './cloud-world.js';
import { half } from '../../fixtures/seed.js';

const count = 200;
const minuteMs = 60_000;
/** A list that another program makes with the same token; that of cloud3 creates volumes, without success. */
const lists = {
  cloud1: 'GET /v2/volumes',
  cloud2: 'GET /v1/volumes',
  cloud4: `GET /compute/v1/projects/emulated-project/zones/${places.cloud4}/disks`,
} as const;
const stormMs = 5 * minuteMs;
const elsewhere = { AvailabilityZone: 'eu-central-1x', Size: 1, ClientToken: 'foreign' };
/** Requests of that program in each interval. */
const providers = {
  cloud1: { foreign: 230, everyMs: minuteMs },
  cloud2: { foreign: 1_500, everyMs: minuteMs },
  // Its buckets are full again within seconds: this program empties that of creations before each one of kedged.
  cloud3: { foreign: 60, everyMs: stormMs },
  cloud4: { foreign: 1_500, everyMs: minuteMs },
} as const;

for (const provider of half('storms of refusals', [
  'cloud1',
  'cloud2',
  'cloud3',
  'cloud4',
] as const))
  describe(`a storm of refusals for the rate over ${count} volumes of ${driverNames[provider]}`, function () {
    this.timeout(600_000);
    let cloud: CloudWorld;
    afterEach(() => cloud.stop());

    it('delays them, and fails none of them: all become Available without a failed attempt', async () => {
      let beforeCreation = (): Promise<void> => Promise.resolve();
      cloud = await CloudWorld.start(provider, {
        volumesMax: count,
        transport: (inner) => async (request) => {
          if (request.body?.includes('Action=CreateVolume&')) await beforeCreation();
          return inner(request);
        },
      });
      const { emulator, world } = cloud;
      const { foreign, everyMs } = providers[provider];
      const status = rateStatus[provider];
      await cloud.secret('cloud', cloud.credential('first'));
      await cloud.storageClass();
      const { accessKeyId = '' } = cloud.literalsOf('first');
      const key = { name: 'first', keyId: accessKeyId, secret: tokens.first };
      const list = () =>
        provider === 'cloud3'
          ? askCloud3(emulator, { action: 'CreateVolume', key, form: elsewhere })
          : ask(emulator, { call: lists[provider], token: tokens.first });
      // The accounts of cloud4 sign their tokens; the limit is that of the project.
      if (provider === 'cloud4') emulator.addToken({ name: 'foreign', secret: tokens.first });
      let foreignRefused = 0;
      const spend = async (): Promise<void> => {
        for (let n = 0; n < foreign; n += 1) {
          const isRefused = (await list()).status === status;
          if (isRefused) foreignRefused += 1;
          if (isRefused && provider === 'cloud3') return;
        }
      };
      await spend();
      const began = world.clock.now();
      beforeCreation = async () => {
        if (world.clock.now() - began < stormMs) await spend();
      };
      for (let ms = everyMs; ms < stormMs; ms += everyMs)
        world.clock.setTimer(() => void spend(), ms);
      const names = Array.from({ length: count }, (_, n) => `v${n}`);
      for (const name of names) await cloud.volume(name);
      const failed = new Set<string>();
      const all = await cloud.until(`${count} volumes`, async () => {
        const { items = [] } = await cloud.ok('GET', '/namespaces/shop/volumes?limit=500');
        const found = items as readonly Readonly<Record<string, unknown>>[];
        for (const { name, status } of found) if (status === 'Failed') failed.add(String(name));
        return found.every(({ status }) => status === 'Available') && found;
      });
      const allRefused = emulator.requests.filter((one) => one.status === status).length;
      const refused = allRefused - foreignRefused;
      const tookS = (world.clock.now() - began) / 1_000;
      console.log(`      ${refused} requests refused, all volumes after ${tookS} s`);
      expect(refused).to.be.above(0);
      expect(all).to.have.length(count);
      expect([...failed]).to.deep.equal([]);
      expect(all.filter(({ attempts }) => attempts !== 0)).to.deep.equal([]);
      expect(await cloud.existing('volume')).to.have.length(count);
    });
  });
