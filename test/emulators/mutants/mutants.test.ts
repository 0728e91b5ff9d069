import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { seededRandom } from 'kedge';
import {
  type ConformanceOptions,
  type Mutant,
  mutants,
  tryMutant,
} from '@kedge/driver-sdk/conformance';
import type { StorageSettings } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { cleanUp, requireDevices } from '../../drivers/devices.js';
import { requireKilled } from '../../drivers/killed-mutant.js';
import { clockOfShortPolls, parametersOf, ServedCloud } from '../drivers/served-cloud.js';
import { withShortPolls } from '../drivers/short-polls.js';
import type { ProviderName } from '../index.js';
import { EmulatedSubject } from '../sweep/emulated-subject.js';
import { driverNames } from '../sweep/emulated-cloud.js';
import { seed, shuffled } from '../../fixtures/seed.js';

const whole = process.env['KEDGE_CLOUD_MUTANTS'] === 'all';
const token = 'dop_v1_token-of-the-mutants';
const node = 'conformance';

/** Tries mutants; returns those that were killed, and the reasons for the others. @throws AssertionError for a survivor */
async function tryAll(
  options: ConformanceOptions,
  chosen: readonly Mutant[],
): Promise<{ readonly killed: readonly string[]; readonly leftOut: ReadonlyMap<string, string> }> {
  const killed: string[] = [];
  const leftOut = new Map<string, string>();
  const survived: string[] = [];
  for (const mutant of chosen) {
    const outcome = await tryMutant(options, mutant);
    if (outcome.type === 'leftOut') leftOut.set(mutant.name, outcome.reason);
    if (outcome.type === 'survived') survived.push(`${mutant.name}: ${mutant.breaks}`);
    if (outcome.type !== 'killed') continue;
    requireKilled(mutant, outcome);
    killed.push(mutant.name);
  }
  expect(survived, 'survived').to.deep.equal([]);
  return { killed, leftOut };
}

/** Prints the mutants that were left out, each of which needs one of the reasons. */
function showLeftOut(leftOut: ReadonlyMap<string, string>, reasons: RegExp): void {
  for (const [name, reason] of leftOut) {
    console.log(`      left out: ${name}: ${reason}`);
    expect(reason, name).to.match(reasons);
  }
}

/** The driver can't do what the mutant breaks. */
const incapable = /\(capability \w+\)$/;
/** On the double of devices nothing is attached or mounted. */
const incapableOrOnDevices =
  /\(capability \w+\)$|^the driver does not (attach devices|mount at the target)$/;

const providers = ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const;
/** The least size of a volume, GiB. */
const minGib = { cloud1: 2n, cloud2: 20n, cloud3: 2n, cloud4: 20n } as const;

for (const provider of providers)
  describe(`mutants around ${driverNames[provider]}`, function () {
    this.timeout(whole ? 0 : 600_000);
    let folder: string;
    /** Mutants that the double of devices shows. */
    let shown: readonly string[] = [];
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), `kedge-mutants-${provider}-`));
    });
    afterEach(() => cleanUp(folder));

    it('on the double of devices each is killed by its check, or left out with a reason', async () => {
      const subject = new EmulatedSubject(provider, folder);
      await subject.cloud.loadSdk();
      const { killed, leftOut } = await tryAll(subject.options, mutants);
      shown = killed;
      console.log(`      ${killed.length} of ${mutants.length} killed`);
      showLeftOut(leftOut, incapableOrOnDevices);
      expect(killed.length).to.be.above(mutants.length / 2);
      expect(await subject.cloud.emulator.inventory()).to.deep.equal([]);
      await subject.cloud.emulator.close();
      await rm(folder, { recursive: true, force: true });
    });

    it(`on loop devices ${whole ? 'all are killed' : 'one is killed'}, seed ${seed}`, async function () {
      requireDevices(this);
      const cloud = await ServedCloud.start(provider, { folder, node, token });
      try {
        const options = onLoopDevices(cloud);
        const drawn = order(mutants, provider).filter(({ name }) => !shown.includes(name) || whole);
        const all = await tryDrawn(options, drawn);
        showLeftOut(all.leftOut, incapable);
        console.log(`      killed: ${all.killed.join(', ')}`);
        expect(all.killed).to.not.deep.equal([]);
        expect(await cloud.running.inventory()).to.deep.equal([]);
      } finally {
        await cloud.close();
      }
    });
  });

/** Mutants in an order that seed and driver select. */
function order(all: readonly Mutant[], provider: ProviderName): readonly Mutant[] {
  return shuffled(all, seededRandom(seed + providers.indexOf(provider)));
}

/** All, or as many as it takes until one is killed: another provider leaves some out. */
async function tryDrawn(
  options: ConformanceOptions,
  drawn: readonly Mutant[],
): ReturnType<typeof tryAll> {
  if (whole) return tryAll(options, drawn);
  const leftOut = new Map<string, string>();
  for (const mutant of drawn) {
    const tried = await tryAll(options, [mutant]);
    if (tried.killed.length > 0) return { killed: tried.killed, leftOut };
    for (const [name, reason] of tried.leftOut) leftOut.set(name, reason);
  }
  return { killed: [], leftOut };
}

function onLoopDevices(cloud: ServedCloud): ConformanceOptions {
  const { provider, driverName } = cloud;
  const settings: StorageSettings = {
    localVolumeRoot: '/nowhere',
    hostPathAllowlist: [],
    allowCreateMissing: false,
    node,
    clusterId: 'cluster-1',
    drivers: { [driverName]: cloud.settings },
    providers: { clock: clockOfShortPolls },
  };
  return {
    driver: async () => withShortPolls((await builtinDrivers(settings).get(driverName))!),
    parameters: { fsType: 'ext4', ...parametersOf(provider, token) },
    sizeBytes: minGib[provider] * 1024n ** 3n,
    otherNode: 'other',
    unknownNode: 'nowhere',
    inventory: () => cloud.running.inventory(),
    invalidParameters: [{ fsType: 'btrfs' }],
    callTimeoutMs: 20_000,
    cancelTimeoutMs: 2_000,
  };
}
