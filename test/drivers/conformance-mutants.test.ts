import { execFileSync } from 'node:child_process';
import { readFile, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { seededRandom } from 'kedge';
import { DriverError, mountAt } from '@kedge/driver-sdk';
import {
  type ConformanceOptions,
  driverConformance,
  failuresOf,
  type Mutant,
  mutants,
  tryMutant,
} from '@kedge/driver-sdk/conformance';
import { type Subject, subjectFolder, subjects } from './conformance-subjects.js';
import { cleanUp, requireDevices } from './devices.js';
import { seed, shuffled } from '../fixtures/seed.js';
import { requireKilled } from './killed-mutant.js';

/** "all" runs every mutant on every subject, and the whole suite against each on directories. */
const whole = process.env['KEDGE_MUTANTS'] === 'all';
const sampled = 3;

const named = (name: string): Subject => {
  const found = subjects.find((subject) => subject.name === name);
  if (!found) throw new Error(`no subject ${name}`);
  return found;
};
const directories = named('local, backing directory');
const devices = named('loop-block, ext4');
const others = subjects.filter(
  ({ name }) => name !== directories.name && name !== devices.name && name !== 'local-host',
);

/** Names of killed mutants, and the reasons of those left out. */
interface Tally {
  readonly killed: Set<string>;
  readonly leftOut: Map<string, string>;
}

async function tryAll(
  options: ConformanceOptions,
  chosen: readonly Mutant[],
  tally: Tally,
): Promise<void> {
  for (const mutant of chosen) {
    const outcome = await tryMutant(options, mutant);
    if (outcome.type === 'leftOut') {
      tally.leftOut.set(mutant.name, outcome.reason);
      continue;
    }
    requireKilled(mutant, outcome);
    tally.killed.add(mutant.name);
  }
}

describe('mutants of the driver conformance suite', function () {
  this.timeout(whole ? 0 : 600_000);
  const onDirectories: Tally = { killed: new Set(), leftOut: new Map() };
  let folder: string;
  let stop: (() => Promise<void>) | undefined;

  beforeEach(async () => {
    folder = await subjectFolder();
  });
  afterEach(async () => {
    await stop?.();
    stop = undefined;
    await cleanUp(folder);
  });

  it('are at least 25 with different names, at least fifteen of them silent, each with its check', () => {
    expect(mutants.length).to.be.at.least(25);
    expect(new Set(mutants.map(({ name }) => name)).size).to.equal(mutants.length);
    const silent = mutants.filter((mutant) => mutant.silent);
    expect(silent.length).to.be.at.least(15);
    console.log(`      ${mutants.length} mutants, ${silent.length} answer success to every call`);
    const names = driverConformance(directories.options('')).map(({ name }) => name);
    expect(new Set(names).size).to.equal(names.length);
    for (const { name, killedBy } of mutants) expect(names, name).to.include(killedBy);
  });

  it('on directories each is killed by its check, or left out with a reason', async () => {
    await tryAll(directories.options(folder), mutants, onDirectories);
    for (const [name, reason] of onDirectories.leftOut)
      console.log(`      left out on directories: ${name}: ${reason}`);
    expect(await directories.options(folder).inventory?.()).to.deep.equal([]);
  });

  it('on block devices the mutants that directories leave out are killed', async function () {
    requireDevices(this);
    const rest = mutants.filter(({ name }) => whole || !onDirectories.killed.has(name));
    const tally: Tally = { killed: new Set(), leftOut: new Map() };
    await tryAll(devices.options(folder), rest, tally);
    expect([...tally.leftOut], 'left out everywhere').to.deep.equal([]);
    expect(await devices.options(folder).inventory?.()).to.deep.equal([]);
  });

  for (const { name, start, options } of others)
    it(`on ${name}, ${whole ? 'all' : 'a sample'} of them, seed ${seed}`, async function () {
      requireDevices(this);
      stop = await start?.(folder);
      const order = shuffled(mutants, seededRandom(seed));
      const drawn = order.slice(0, whole ? mutants.length : sampled);
      const tally: Tally = { killed: new Set(), leftOut: new Map() };
      await tryAll(options(folder), drawn, tally);
      for (const [mutant, reason] of tally.leftOut)
        console.log(`      left out on ${name}: ${mutant}: ${reason}`);
      expect(await options(folder).inventory?.()).to.deep.equal([]);
    });

  it('an unmount without effect is detected, and the content below the mount is not removed', async function () {
    requireDevices(this);
    const honest = devices.options(folder);
    const targets: string[] = [];
    const faulty: ConformanceOptions = {
      ...honest,
      driver: async () => {
        const driver = await honest.driver();
        return {
          ...driver,
          mount: (request) => {
            targets.push(request.target);
            return driver.mount(request);
          },
          unmount: () => Promise.resolve(),
        };
      },
    };
    const unmounts = driverConformance(faulty).find(({ name }) => name === 'unmount-unmounts');
    const failed = await unmounts!.run().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(String(failed)).to.contain('is still mounted');
    expect(targets).to.have.length(1);
    const target = targets[0]!;
    expect(await mountAt(target), 'still mounted').to.not.equal(undefined);
    try {
      const label = await readFile(join(target, 'kedge-conformance', 'label'), 'utf8');
      expect(label).to.equal('untouched');
    } finally {
      execFileSync('umount', [target]);
      await rmdir(target);
      await rmdir(dirname(target));
    }
  });

  it('a faulty driver does not count as a killed mutant', async () => {
    const honest = directories.options(folder);
    const broken: ConformanceOptions = {
      ...honest,
      driver: async () => ({
        ...(await honest.driver()),
        provision: () => Promise.reject(new DriverError('Unavailable', 'out of order')),
      }),
    };
    const tried = await tryMutant(broken, mutants[0]!).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(String(tried)).to.contain('out of order');
  });

  if (whole)
    it('the whole suite detects each on directories, and leaves no resources', async () => {
      for (const mutant of mutants) {
        const options = directories.options(folder);
        const failed = await failuresOf(options, mutant);
        console.log(`      ${mutant.name}: ${failed.join(', ') || 'nothing to break here'}`);
        if (onDirectories.killed.has(mutant.name)) expect(failed).to.include(mutant.killedBy);
        expect(await options.inventory?.(), mutant.name).to.deep.equal([]);
      }
    });
});
