import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ConformanceOptions, driverConformance } from '@kedge/driver-sdk/conformance';
import type { StorageSettings } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { cleanUp, requireDevices } from '../../drivers/devices.js';
import { specifiedPermissions as keyPermissions } from '../cloud3/machine.js';
import { specifiedCalls, specifiedCallsIn, unspecifiedCalls } from '../schema/specified-calls.js';
import { driverNames } from '../sweep/emulated-cloud.js';
import { half, third } from '../../fixtures/seed.js';
import { isWhole, printSample, sampledFileSystems } from './file-systems.js';
import { clockOfShortPolls, parametersOf, ServedCloud } from './served-cloud.js';
import { withShortPolls } from './short-polls.js';

const token = 'dop_v1_token-of-the-conformance-test';
const node = 'conformance';
const minGib = { cloud1: 1n, cloud2: 10n, cloud3: 1n, cloud4: 10n } as const;
/** An id that the definition of each provider permits, and that no volume has. */
const noVolume = { cloud3: 'vol-00000000000000000', cloud4: 'none' } as const;

const providers = ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const;
/** Drivers of which the suite runs on loop devices; all of them run it on the double of devices. */
const chosen = isWhole ? providers : half('drivers of clouds on loop devices', providers);

for (const [position, provider] of [...providers.entries()].filter(([, name]) =>
  chosen.includes(name),
))
  for (const fsType of sampledFileSystems(position))
    describe(`${driverNames[provider]} passes the conformance suite on loop devices, ${fsType}`, function () {
      this.timeout(120_000);
      let folder: string;
      let cloud: ServedCloud;
      const leftOut: string[] = [];
      before(async function () {
        requireDevices(this);
        printSample(driverNames[provider], sampledFileSystems(position));
        folder = await mkdtemp(join(tmpdir(), `kedge-${provider}-`));
        cloud = await ServedCloud.start(provider, { folder, node, token });
        if (provider !== 'cloud3' && provider !== 'cloud4') return;
        // The first call loads the SDK, for longer than a check permits on a loaded machine.
        const { signal } = new AbortController();
        const { parameters = {} } = options;
        const driver = await builtinDrivers(settings()).get(cloud.driverName);
        const handle = noVolume[provider];
        await driver?.find?.({ parameters, node, signal, handle }).catch(() => undefined);
      });
      after(async () => {
        console.log(`      ${sample.length} of ${checks.length} checks`);
        for (const line of leftOut) console.log(`      left out: ${line}`);
        await cloud?.close();
        if (folder) await cleanUp(folder);
      });
      const settings = (): StorageSettings => ({
        localVolumeRoot: '/nowhere',
        hostPathAllowlist: [],
        allowCreateMissing: false,
        node,
        clusterId: 'cluster-1',
        drivers: { [cloud.driverName]: cloud.settings },
        providers: { clock: clockOfShortPolls },
      });
      const options: ConformanceOptions = {
        driver: async () =>
          withShortPolls((await builtinDrivers(settings()).get(cloud.driverName))!),
        parameters: { fsType, ...parametersOf(provider, token) },
        sizeBytes: minGib[provider] * 1024n ** 3n,
        otherNode: 'other',
        unknownNode: 'nowhere',
        inventory: () => cloud.running.inventory(),
        invalidParameters: [{ fsType: 'btrfs' }],
        callTimeoutMs: 20_000,
        cancelTimeoutMs: 2_000,
      };
      const checks = driverConformance(options);
      const sample = isWhole ? checks : third(checks);
      for (const { name, behaviour, run } of sample)
        it(`${name}: ${behaviour}`, async () => {
          const outcome = await run();
          if (outcome.type === 'leftOut') leftOut.push(`${name}: ${outcome.reason}`);
        });
      it('makes calls of the specification only, and leaves nothing behind', async () => {
        const { requests, emulator } = cloud.running;
        expect(unspecifiedCalls(provider, requests)).to.deep.equal([]);
        // An operation is polled, so that no request waits for its end.
        const expected = specifiedCalls[provider].filter((call) => !call.endsWith('/wait'));
        const made = specifiedCallsIn(provider, requests);
        if (isWhole) expect(made).to.deep.equal(expected);
        else expect(expected).to.include.members([...made]);
        // The path of cloud3 is the same for each action. Tags are part of the requests that create.
        if (provider === 'cloud3') {
          const actions = new Set(requests.map(({ action = '' }) => `ec2:${action}`));
          const permitted = keyPermissions.filter((each) => each !== 'ec2:CreateTags');
          if (isWhole) expect([...actions]).to.have.members(permitted);
          else expect(permitted).to.include.members([...actions]);
        }
        expect(emulator.violations).to.deep.equal([]);
        // cloud1 looks for the snapshot of a lost answer in the snapshots of each volume.
        if (provider === 'cloud2') {
          const lists = requests.filter(
            ({ method, path }) => method === 'GET' && path === '/v1/volumes',
          );
          const named = lists.filter(({ query }) => query.some(([key]) => key === 'name'));
          expect(named).to.have.length(lists.length);
        }
        expect(await emulator.inventory()).to.deep.equal([]);
      });
    });
