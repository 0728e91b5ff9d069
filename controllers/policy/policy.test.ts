import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { backoffDelayMs, seededRandom } from 'kedge';
import {
  backoffOf,
  defaultPolicy,
  policyKey,
  type PolicyName,
  type PolicyValue,
  policyValues,
  readPolicy,
} from './policy.js';

const entries = Object.entries(policyValues) as [PolicyName, PolicyValue][];

/** Returns the violations of a configuration, by key. */
function wrong(given: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const read = readPolicy((key) => given[key]);
  if (read.type === 'valid') return {};
  return Object.fromEntries(read.violations.map((v) => [v.field, v.description]));
}

describe('the retry policy', () => {
  it('is its defaults where nothing is configured, each within its range', () => {
    expect(readPolicy(() => undefined)).to.deep.equal({ type: 'valid', policy: defaultPolicy });
    for (const [name, { fallback, least, most }] of entries)
      expect(fallback, name).to.be.within(least, most);
  });

  it('takes whole numbers within the range of their value, as numbers or as text', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...entries),
        fc.double(),
        fc.boolean(),
        ([name, value], share, text) => {
          const spread = Math.abs(share % 1) || 0;
          const number = Math.round(value.least + spread * (value.most - value.least));
          const read = readPolicy((key) =>
            key === policyKey(name) ? (text ? String(number) : number) : undefined,
          );
          if (read.type === 'valid') expect(read.policy[name]).to.equal(number);
          else expect(name).to.match(/Backoff(Base|Max)Ms$|^heartbeat|^node|^jitter/);
        },
      ),
    );
  });

  it('refuses every other value by key, value, range, unit and default, all at once', () => {
    const given = { heartbeatMs: 0, lostProbeMs: '5m', jitterPercent: 101, driverAttemptsMax: 1.5 };
    const keys = Object.fromEntries(Object.entries(given).map(([n, v]) => [`controllers.${n}`, v]));
    expect(wrong(keys)).to.deep.equal({
      'controllers.heartbeatMs':
        '0 must be a whole number from 1000 to 86400000 milliseconds; the default is 10000',
      'controllers.lostProbeMs':
        '"5m" must be a whole number from 1000 to 86400000 milliseconds; the default is 900000',
      'controllers.jitterPercent':
        '101 must be a whole number from 0 to 80 percent; the default is 20',
      'controllers.driverAttemptsMax':
        '1.5 must be a whole number from 1 to 1000 attempts; the default is 10',
    });
  });

  it('refuses a backoff whose first wait is above its longest', () => {
    const given = {
      'controllers.driverBackoffBaseMs': 10_000,
      'controllers.driverBackoffMaxMs': 9_000,
    };
    expect(wrong(given)).to.deep.equal({
      'controllers.driverBackoffBaseMs':
        '10000 must not be above controllers.driverBackoffMaxMs, which is 9000; lower it, or raise controllers.driverBackoffMaxMs',
    });
  });

  it('has no wait below 10 ms, regardless of the jitter', () => {
    const key = (name: PolicyName) => policyKey(name);
    expect(wrong({ [key('startBackoffBaseMs')]: 12 })).to.deep.equal({
      'controllers.jitterPercent':
        '20 reduces waits of controllers.startBackoffBaseMs to 9 ms, and the minimum is 10 ms; lower it, or raise controllers.startBackoffBaseMs and controllers.startBackoffMaxMs',
    });
    const atTheCap: Record<string, number> = {
      [key('startBackoffBaseMs')]: 12,
      [key('startBackoffMaxMs')]: 12,
      [key('jitterPercent')]: 10,
    };
    expect(wrong(atTheCap)).to.have.key('controllers.jitterPercent');
    const names = ['driver', 'object', 'start', 'restart'] as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.integer({ min: 10, max: 60 }),
        fc.integer({ min: 10, max: 120 }),
        fc.integer({ min: 0, max: 80 }),
        fc.nat(12),
        fc.constantFrom(0, 0.5, 0.999_999),
        (name, baseMs, maxMs, jitter, failures, chance) => {
          const given: Record<string, number> = {
            [key(`${name}BackoffBaseMs`)]: baseMs,
            [key(`${name}BackoffMaxMs`)]: maxMs,
            [key('jitterPercent')]: jitter,
          };
          const read = readPolicy((at) => given[at]);
          if (read.type === 'invalid') return;
          const random = { ...seededRandom(1), next: () => chance };
          const waitMs = backoffDelayMs(backoffOf(read.policy, name), failures, random);
          expect(waitMs).to.be.at.least(10 - 1e-9);
        },
      ),
    );
  });

  it('refuses a timeout that ends before the second heartbeat', () => {
    expect(wrong({ 'controllers.heartbeatMs': 25_000 })).to.deep.equal({
      'controllers.nodeSilentMs':
        '40000 must be at least 50000, twice controllers.heartbeatMs; raise it, or lower controllers.heartbeatMs',
    });
  });

  it('gives a backoff its two waits and the jitter', () => {
    const backoff = { baseMs: 1_000, maxMs: 300_000, jitter: 0.2 };
    expect(backoffOf(defaultPolicy, 'driver')).to.deep.equal(backoff);
  });

  it('equals the table of its reference page', async () => {
    const file = new URL('../../../docs/reference/retry-policy.md', import.meta.url);
    const rows = (await readFile(file, 'utf8'))
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const cells = rows.map((row) =>
      row
        .split('|')
        .map((cell) => cell.trim())
        .slice(1, -1),
    );
    const expected = entries.map(([name, { fallback, least, most, unit, meaning }]) =>
      [`\`${name}\``, fallback, `${least} to ${most}`, unit, meaning].map(String),
    );
    expect(cells).to.deep.equal(expected);
  });
});
