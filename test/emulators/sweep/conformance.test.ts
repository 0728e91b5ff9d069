import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ConformanceOptions, driverConformance } from '@kedge/driver-sdk/conformance';
import { specifiedPermissions as keyPermissions } from '../cloud3/machine.js';
import { specifiedCalls, specifiedCallsIn, unspecifiedCalls } from '../schema/specified-calls.js';
import { driverNames, type EmulatedCloud } from './emulated-cloud.js';
import { EmulatedSubject } from './emulated-subject.js';

/** For the names of the checks; the subject does not exist before the tests run. */
const names: ConformanceOptions = { driver: () => Promise.reject(new Error('no driver yet')) };

for (const provider of ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const)
  describe(`${driverNames[provider]} passes the conformance suite with the emulator on an injected clock`, () => {
    let folder: string;
    let subject: EmulatedSubject;
    let cloud: EmulatedCloud;
    let emptyInventory: readonly string[];
    const leftOut: string[] = [];
    before(async function () {
      this.timeout(120_000);
      folder = await mkdtemp(join(tmpdir(), 'kedge-emulated-'));
      subject = new EmulatedSubject(provider, folder);
      ({ cloud } = subject);
      // The first call of a check would take longer than the suite permits.
      await cloud.loadSdk();
      emptyInventory = await cloud.emulator.inventory();
    });
    after(async () => {
      for (const line of leftOut) console.log(`      left out: ${line}`);
      await cloud.emulator.close();
      await rm(folder, { recursive: true, force: true });
    });
    for (const { name, behaviour } of driverConformance(names))
      it(`${name}: ${behaviour}`, async () => {
        const found = driverConformance(subject.options).find((one) => one.name === name);
        const outcome = await found!.run();
        if (outcome.type === 'leftOut') leftOut.push(`${name}: ${outcome.reason}`);
      });

    it('leaves nothing behind, and each call of the specification is made, and no other', async () => {
      expect(await cloud.emulator.inventory()).to.deep.equal(emptyInventory);
      expect(cloud.emulator.violations).to.deep.equal([]);
      expect(unspecifiedCalls(provider, cloud.emulator.requests)).to.deep.equal([]);
      // An operation is polled, so that no request waits for its end.
      const expected = specifiedCalls[provider].filter((call) => !call.endsWith('/wait'));
      expect(specifiedCallsIn(provider, cloud.emulator.requests)).to.deep.equal(expected);
      // All actions of the EC2 API have one path. Tags are part of the requests that create.
      if (provider === 'cloud3') {
        const actions = new Set(cloud.emulator.requests.map(({ action = '' }) => `ec2:${action}`));
        expect([...actions]).to.have.members(
          keyPermissions.filter((each) => each !== 'ec2:CreateTags'),
        );
      }
      const { length } = cloud.emulator.requests;
      console.log(`      ${length} requests`);
      expect(length).to.be.above(100);
    });
  });
