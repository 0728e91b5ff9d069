import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { CalledDriver } from '../drivers/called-driver.js';
import { askCloud3 } from '../cloud3/client.js';
import { emulatedProject } from '../cloud4/service-account.js';
import { ask } from '../core/client.js';
import type { Emulator } from '../core/emulator.js';
import { unspecifiedCalls } from '../schema/specified-calls.js';
import { EmulatedCloud, places, rateStatus, testToken } from './emulated-cloud.js';
import { half } from '../../fixtures/seed.js';

const volumesCount = 500;
const stormCount = 200;
const perNode = 10;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Limits of the providers in requests per hour. */
const perHour = { cloud1: 5_000, cloud2: 3_600, cloud3: 18_000, cloud4: 72_000 } as const;
/** Maximum number of requests from Pending to Available; reads of several volumes of cloud3 share requests. */
const availableMax = { cloud1: 6, cloud2: 6, cloud3: 5, cloud4: 5 } as const;
const usedShare = 0.96;
/** Requests that another program makes with the same token, each minute for five minutes. */
const foreign = { cloud1: 230, cloud2: 1_500, cloud3: 200, cloud4: 1_500 } as const;

/** Lists the volumes with the token of the tests. */
const listOnce: Readonly<Record<keyof typeof foreign, (emulator: Emulator) => Promise<unknown>>> = {
  cloud1: (emulator) => ask(emulator, { call: 'GET /v2/volumes', token: testToken }),
  cloud2: (emulator) => ask(emulator, { call: 'GET /v1/volumes', token: testToken }),
  cloud3: (emulator) =>
    askCloud3(emulator, { action: 'DescribeVolumes', key: { name: 'sweep', secret: testToken } }),
  cloud4: (emulator) =>
    ask(emulator, {
      call: `GET /compute/v1/projects/${emulatedProject}/zones/${places.cloud4}/disks`,
      token: testToken,
    }),
};

const nodeOf = (n: number): string => `worker-${(n % (volumesCount / perNode)) + 1}`;

function most(counts: readonly number[]): number {
  return Math.max(...counts);
}

for (const provider of half('many volumes', ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const))
  describe(`${volumesCount} volumes of one ${provider} token`, function () {
    this.timeout(600_000);
    let folder: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kedge-many-'));
    });
    after(() => rm(folder, { recursive: true, force: true }));

    it(`become Available with at most ${availableMax[provider]} requests each and are attached with at most 6 more, under the limits, none starved`, async () => {
      const place = places[provider];
      const cloud = new EmulatedCloud(provider, folder, {
        volumesMax: volumesCount,
        // The provider's page, and not the small one with which tests see a client that reads the first page only.
        perPage: 1_000,
        instances: Array.from({ length: volumesCount / perNode }, (_, n) => ({
          name: nodeOf(n),
          place,
        })),
      });
      const { clock, emulator } = cloud;
      await cloud.loadSdk();
      const driver = await cloud.driver();
      const began = clock.now();
      const asked = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
      const requestsOf = (uid: string): number => driver.recentCalls?.(uid).length ?? 0;
      const available: { readonly ms: number; readonly requests: number }[] = [];
      const attached: typeof available = [];
      await Promise.all(
        Array.from({ length: volumesCount }, async (_, n) => {
          const one = new CalledDriver(cloud, driver, `many-${n}`);
          const made = await cloud.over(() => driver.provision({ ...one.request(), ...asked }));
          one.handle = made.handle;
          const at = available.push({ ms: clock.now() - began, requests: requestsOf(one.uid) }) - 1;
          await cloud.over(() => driver.attach(one.request(nodeOf(n))));
          attached.push({
            ms: clock.now() - began,
            requests: requestsOf(one.uid) - available[at]!.requests,
          });
        }),
      );
      const inventory = await emulator.inventory();
      expect(inventory.filter((one) => one.startsWith('attached '))).to.have.length(volumesCount);
      expect(inventory.filter((one) => one.startsWith('volume '))).to.have.length(volumesCount);
      // Requests for several volumes count for each of them in the journal, but once at the provider.
      const until = (actions: readonly string[]): number =>
        emulator.requests.filter(({ action = '' }) => actions.includes(action)).length /
        volumesCount;
      const requests = {
        available:
          provider === 'cloud3'
            ? until(['CreateVolume', 'DescribeVolumes'])
            : most(available.map((one) => one.requests)),
        attached: most(attached.map((one) => one.requests)),
      };
      const mean = emulator.requests.length / volumesCount;
      // The polls of attachments are DescribeVolumes too, and count with the requests until Available.
      if (provider === 'cloud3') requests.attached = mean - requests.available;
      const [lastAvailable, lastAttached] = [available, attached].map((all) =>
        most(all.map(({ ms }) => ms)),
      );
      const refused = emulator.requests.filter(
        ({ status }) => status === rateStatus[provider],
      ).length;
      console.log(
        `      ${emulator.requests.length} requests, ${mean} a volume, at most ${requests.available} until Available and ${requests.attached} more until attached; the last ones after ${lastAvailable! / 1_000} s and ${lastAttached! / 1_000} s; ${refused} refused`,
      );
      expect(refused, 'refused for the rate').to.equal(0);
      expect(requests.available).to.be.at.most(availableMax[provider]);
      expect(requests.attached).to.be.at.most(6);
      // The last call ends no later than the budgets permit all of the requests.
      const allowedMs = (emulator.requests.length / (perHour[provider] * usedShare)) * hourMs;
      expect(lastAttached).to.be.at.most(allowedMs);
      expect(emulator.violations).to.deep.equal([]);
      expect(unspecifiedCalls(provider, emulator.requests)).to.deep.equal([]);
      await emulator.close();
    });

    it(`${stormCount} come through a storm of refusals by the rate limit that another program causes`, async () => {
      const disks = await mkdtemp(join(folder, 'storm-'));
      const cloud = new EmulatedCloud(provider, disks, { volumesMax: stormCount, perPage: 1_000 });
      const { clock, emulator } = cloud;
      const driver = await cloud.driver();
      if (provider === 'cloud4') emulator.addToken({ name: 'foreign', secret: testToken });
      const spend = async (): Promise<void> => {
        for (let n = 0; n < foreign[provider]; n += 1) await listOnce[provider](emulator);
      };
      await spend();
      for (let minute = 1; minute < 5; minute += 1)
        clock.setTimer(() => void spend(), minute * minuteMs);
      const began = clock.now();
      const took: number[] = [];
      await Promise.all(
        Array.from({ length: stormCount }, async (_, n) => {
          await new CalledDriver(cloud, driver, `storm-${n}`).provision();
          took.push(clock.now() - began);
        }),
      );
      const volumes = (await emulator.inventory()).filter((one) => one.startsWith('volume '));
      expect(volumes).to.have.length(stormCount);
      const refused = emulator.requests.filter(
        ({ status }) => status === rateStatus[provider],
      ).length;
      console.log(
        `      ${refused} requests refused, the last volume after ${most(took) / 1_000} s`,
      );
      expect(refused).to.be.above(0);
      expect(most(took)).to.be.below(40 * minuteMs);
      await emulator.close();
    });
  });
