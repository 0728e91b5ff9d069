import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { isPending, memoryOperations } from '@kedge/driver-sdk';
import {
  pauseOn,
  type ProviderClock,
  type Transport,
  type TransportReply,
} from '@kedge/driver-sdk/provider';
import { builtinDrivers } from '@kedge/drivers';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A clock that moves to each timer in turn; nothing that it drives waits for anything else. */
class SteppedClock implements ProviderClock {
  #now = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  setTimer(callback: () => void, delayMs: number): { cancel(): void } {
    const timer = { at: this.#now + delayMs, callback };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  async advance(byMs: number): Promise<void> {
    const end = this.#now + byMs;
    for (;;) {
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
      let next: { readonly at: number; readonly callback: () => void } | undefined;
      for (const timer of this.#timers)
        if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
      if (!next) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = end;
  }
}

/** A provider in this process, which refuses what exceeds the documented limits of a token. */
class LimitedCloud {
  readonly names = new Map<string, object>();
  /** Times of all requests. */
  readonly at: number[] = [];
  readonly asked = new Map<string, number>();
  refused = 0;
  /** Requests that another program makes with the token, at the begin of each minute. */
  foreign = 0;
  readonly #clock: SteppedClock;

  constructor(clock: SteppedClock) {
    this.#clock = clock;
  }

  readonly transport: Transport = ({ method, url, body }) => {
    const now = this.#clock.now();
    const since = (ms: number): number => this.at.filter((time) => time > now - ms).length;
    const used = since(minuteMs) + this.foreign;
    const name = method === 'GET' ? url.searchParams.get('name')! : nameIn(body);
    this.asked.set(name, (this.asked.get(name) ?? 0) + 1);
    if (used >= 250 || since(hourMs) >= 5_000) {
      this.refused += 1;
      return Promise.resolve(reply(429, { id: 'too_many_requests', message: 'slow' }, '20'));
    }
    this.at.push(now);
    if (method === 'GET') {
      const found = this.names.get(name);
      return Promise.resolve(reply(200, { volumes: found ? [found] : [], links: {} }));
    }
    const region = { slug: 'fra1' };
    const volume = { id: randomUUID(), name, region, size_gigabytes: 1, droplet_ids: null };
    this.names.set(name, volume);
    return Promise.resolve(reply(201, { volume }));
  };
}

function nameIn(body: string | undefined): string {
  return (JSON.parse(body ?? '{}') as { readonly name: string }).name;
}

function reply(status: number, body: object, retryAfter?: string): TransportReply {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  return { status, headers: { 'ratelimit-limit': '5000', ...headers }, text: JSON.stringify(body) };
}

describe('many volumes of one token', () => {
  /** Provisions volumes at once; returns the time that each took, milliseconds. */
  async function provisionAll(
    count: number,
    clock: SteppedClock,
    cloud: LimitedCloud,
  ): Promise<readonly number[]> {
    const registry = builtinDrivers({
      localVolumeRoot: '/nowhere',
      hostPathAllowlist: [],
      allowCreateMissing: false,
      providers: { clock, transport: cloud.transport },
    });
    const driver = (await registry.get('cloud1-volume'))!;
    const began = clock.now();
    const took: number[] = [];
    const one = async (n: number): Promise<void> => {
      const request = {
        volume: { uid: `uid-${n}`, name: `v${n}`, namespace: 'shop' },
        parameters: { region: 'fra1', apiToken: 'dop_v1_shared' },
        node: 'worker',
        signal: new AbortController().signal,
        operations: memoryOperations(),
        sizeBytes: 1n,
        accessMode: 'ReadWriteOnce',
        topology: {},
      } as const;
      for (;;) {
        const answer = await driver.provision(request);
        if (!isPending(answer)) break;
        await pauseOn(clock, answer.pollAfterMs, request.signal);
      }
      took.push(clock.now() - began);
    };
    const all = Promise.all(Array.from({ length: count }, (_, n) => one(n)));
    for (let waited = 0; waited < 2 * hourMs && took.length < count; waited += 30_000)
      await clock.advance(30_000);
    await all;
    return took;
  }

  it('500 are provisioned with at most 6 requests each, under the limits, and none is starved', async function () {
    this.timeout(180_000);
    const clock = new SteppedClock();
    const cloud = new LimitedCloud(clock);
    const took = await provisionAll(500, clock, cloud);
    expect(took).to.have.length(500);
    expect(cloud.names.size).to.equal(500);
    expect(cloud.refused, 'refusals').to.equal(0);
    const requests = [...cloud.asked.values()];
    expect(Math.max(...requests)).to.be.at.most(6);
    const total = requests.reduce((sum, each) => sum + each, 0);
    console.log(
      `      ${total} requests, at most ${Math.max(...requests)} a volume, the last after ${Math.max(...took) / 1_000} s`,
    );
    // 1,000 requests at the rate of the budget, after its burst.
    expect(Math.max(...took)).to.be.below(15 * minuteMs);
  });

  it('200 come through a storm of 429 that another program causes', async function () {
    this.timeout(180_000);
    const clock = new SteppedClock();
    const cloud = new LimitedCloud(clock);
    cloud.foreign = 230;
    clock.setTimer(() => (cloud.foreign = 0), 5 * minuteMs);
    const took = await provisionAll(200, clock, cloud);
    expect(took).to.have.length(200);
    expect(cloud.names.size).to.equal(200);
    // Most of them are the first burst, which was sent before the first refusal came.
    expect(cloud.refused).to.be.within(1, 200);
    expect(Math.max(...took)).to.be.below(20 * minuteMs);
  });
});
