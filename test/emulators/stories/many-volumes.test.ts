import { expect } from 'chai';
import type { Transport } from '@kedge/driver-sdk/provider';
import { driverNames, rateStatus } from '../sweep/emulated-cloud.js';
import { CloudWorld } from './cloud-world.js';
import { seed } from '../../fixtures/seed.js';

/** Number of volumes of one class; with it, every provider is tested. */
const given = process.env['KEDGE_CLOUD_VOLUMES'];
const count = Number(given ?? 500);
const all = ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const;
/** Otherwise one provider, which the seed selects. */
const chosen = given === undefined ? all.filter((_, n) => n === seed % all.length) : all;
/** The largest page of the API. */
const pageMax = 1_000;
const silentCount = 40;
/** Steps of the clock for each volume: the budget of one credential permits no more than 1.3 requests a second. */
const stepsOfEach = 2;
const hourMs = 3_600_000;
/** Limits of the providers in requests per hour, and the share that a budget uses. */
const perHour = { cloud1: 5_000, cloud2: 3_600, cloud3: 18_000, cloud4: 72_000 } as const;
const usedShare = 0.96;
/** Maximum number of requests from Pending to Available; reads of several volumes of cloud3 share requests. */
const requestsMax = { cloud1: 6, cloud2: 6, cloud3: 5, cloud4: 5 } as const;
/**
 * Number of lists of all volumes while they are provisioned. A list at each step would make the duration of the test
 * quadratic: each volume is a further step.
 */
const lists = 100;
/** The step in which the time of a world passes, and the delay until a controller observes a result. */
const toleranceMs = 20_000;
/** A class whose provider does not answer, beside each provider. */
const silent = {
  cloud1: { driver: 'cloud2-volume', parameters: { location: 'fsn1', apiToken: 'unanswered' } },
  cloud2: { driver: 'cloud1-volume', parameters: { region: 'fra1', apiToken: 'unanswered' } },
  cloud3: { driver: 'cloud2-volume', parameters: { location: 'fsn1', apiToken: 'unanswered' } },
  cloud4: { driver: 'cloud1-volume', parameters: { region: 'fra1', apiToken: 'unanswered' } },
} as const;
type Json = Readonly<Record<string, unknown>>;

/** A transport whose requests with one token end only when they are cancelled. */
class Unanswered {
  waiting = 0;

  over(inner: Transport): Transport {
    return (request) => {
      if (!JSON.stringify(request.headers).includes('unanswered')) return inner(request);
      this.waiting += 1;
      return new Promise((_, reject) => {
        const end = (): void => {
          this.waiting -= 1;
          reject(new Error('aborted'));
        };
        request.signal.addEventListener('abort', end, { once: true });
      });
    };
  }
}

async function everyVolume(cloud: CloudWorld): Promise<readonly Json[]> {
  const found: Json[] = [];
  let token = '';
  do {
    const path = `/namespaces/shop/volumes?limit=${pageMax}&pageToken=${encodeURIComponent(token)}`;
    const { items = [], nextPageToken = '' } = await cloud.ok('GET', path);
    found.push(...(items as readonly Json[]));
    token = String(nextPageToken);
  } while (token !== '');
  return found;
}

/** The time at which a volume was provisioned. */
function provisionedAt({ conditions = [] }: Json): number {
  const found = (conditions as readonly Json[]).find(({ type }) => type === 'Provisioned');
  return Date.parse(String(found?.['lastTransitionAt']));
}

for (const provider of chosen)
  describe(`${count} volumes of one class of ${driverNames[provider]}, through the controllers`, function () {
    this.timeout(3_600_000);
    let cloud: CloudWorld;
    afterEach(() => cloud.stop());

    it(`become Available with at most ${requestsMax[provider]} requests each, under the limit, none starved, beside a provider that does not answer`, async () => {
      const unanswered = new Unanswered();
      cloud = await CloudWorld.start(provider, {
        ...{ volumesMax: count, perPage: 1_000 },
        transport: (inner) => unanswered.over(inner),
      });
      const { emulator, world } = cloud;
      await cloud.secret('cloud', cloud.credential('first'));
      await cloud.storageClass();
      await cloud.ok('POST', '/storageclasses', { name: 'silent', ...silent[provider] });
      for (let n = 0; n < silentCount; n += 1) await cloud.volume(`silent-${n}`, 'silent');
      await cloud.until('calls that wait', () => Promise.resolve(unanswered.waiting > 0));
      const before = emulator.requests.length;
      const began = world.clock.now();
      for (let n = 0; n < count; n += 1) await cloud.volume(`v${n}`);

      const availableAt = new Map<string, number>();
      const requests = new Map<string, number>();
      const failed = new Set<string>();
      let step = 0;
      const seen = await cloud.until(
        `${count} volumes`,
        async () => {
          step += 1;
          if (step % Math.ceil((stepsOfEach * count) / lists) !== 0) return undefined;
          const found = (await everyVolume(cloud)).filter(
            ({ storageClassName }) => storageClassName === 'c',
          );
          for (const one of found) {
            const { name, metadata, status } = one;
            const { uid } = metadata as Json;
            const at = provisionedAt(one);
            if (status === 'Failed' || status === 'Stalled') failed.add(String(name));
            if (status !== 'Available' || availableAt.has(String(name))) continue;
            availableAt.set(String(name), at - began);
            requests.set(String(name), cloud.requestsFor(uid, at));
          }
          return availableAt.size === count && found;
        },
        stepsOfEach * count,
      );
      const made = emulator.requests.slice(before);
      const refused = made.filter(({ status }) => status === rateStatus[provider]);
      const [lastMs, most] = [availableAt, requests].map((each) => Math.max(...each.values()));
      const silentStill = await cloud.get('/namespaces/shop/volumes/silent-0');
      console.log(
        `      KEDGE_SEED=${seed}; ${made.length} requests, ${made.length / count} a volume, at most ${most!} for one; the last is Available after ${lastMs! / 1_000} s; ${refused.length} refused; ${unanswered.waiting} calls wait for the other provider`,
      );
      expect(refused.length, 'refused for the rate').to.equal(0);
      expect(most).to.be.above(0);
      // Reads of several volumes of cloud3 share a request, which the journal of each has.
      if (provider === 'cloud3') expect(made.length / count).to.be.at.most(requestsMax[provider]);
      else expect(most).to.be.at.most(requestsMax[provider]);
      // The last is not later than the budget permits all requests.
      const allowedMs = (made.length / (perHour[provider] * usedShare)) * hourMs + toleranceMs;
      expect(lastMs).to.be.at.most(allowedMs);
      expect([...failed]).to.deep.equal([]);
      expect(seen.filter(({ attempts }) => attempts !== 0)).to.deep.equal([]);
      expect(silentStill).to.not.have.property('status', 'Available');
      expect(await cloud.existing('volume')).to.have.length(count);
    });
  });
