import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ConformanceOptions, driverConformance } from '@kedge/driver-sdk/conformance';
import type { StorageSettings } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { cleanUp, requireDevices } from '../devices.js';
import { Cloud1Double, fiveScopes } from './cloud1-double.js';
import { printSample, sampledFileSystems } from './file-systems.js';

const token = 'dop_v1_token-of-the-conformance-test';

const fileSystems = sampledFileSystems(0);

for (const fsType of fileSystems)
  describe(`cloud1-volume passes the conformance suite, ${fsType}`, function () {
    this.timeout(120_000);
    let folder: string;
    let cloud: Cloud1Double;
    const leftOut: string[] = [];
    before(async function () {
      requireDevices(this);
      printSample('cloud1-volume', fileSystems);
      folder = await mkdtemp(join(tmpdir(), 'kedge-cloud1-'));
      cloud = new Cloud1Double(folder);
      cloud.tokens.set(token, fiveScopes);
      cloud.droplets.set('conformance', 11).set('other', 12);
      await cloud.listen();
    });
    after(async () => {
      for (const line of leftOut) console.log(`      left out: ${line}`);
      await cloud?.close();
      if (folder) await cleanUp(folder);
    });
    const settings = (): StorageSettings => ({
      localVolumeRoot: '/nowhere',
      hostPathAllowlist: [],
      allowCreateMissing: false,
      node: 'conformance',
      clusterId: 'cluster-1',
      drivers: {
        'cloud1-volume': {
          endpoint: cloud.endpoint,
          deviceDirectory: cloud.disks.links('11'),
          timeouts: { deviceMs: 2_000 },
        },
      },
    });
    const options: ConformanceOptions = {
      driver: async () => (await builtinDrivers(settings()).get('cloud1-volume'))!,
      parameters: { fsType, region: 'fra1', apiToken: token },
      sizeBytes: 1024n ** 3n,
      otherNode: 'other',
      unknownNode: 'nowhere',
      inventory: () => Promise.resolve(cloud.inventory()),
      invalidParameters: [{ fsType: 'btrfs' }],
      callTimeoutMs: 20_000,
      cancelTimeoutMs: 2_000,
    };
    for (const { name, behaviour, run } of driverConformance(options))
      it(`${name}: ${behaviour}`, async () => {
        const outcome = await run();
        if (outcome.type === 'leftOut') leftOut.push(`${name}: ${outcome.reason}`);
      });
    it('needs no more than the five scopes, and calls no other path for actions and snapshots', () => {
      const paths = new Set(
        cloud.received.map(
          ({ method, path }) => `${method} ${path.replaceAll(/\/[0-9a-f-]{36}|\/\d+/g, '/ID')}`,
        ),
      );
      expect([...paths].sort()).to.deep.equal([
        'DELETE /v2/volumes/ID',
        'DELETE /v2/volumes/snapshots/ID',
        'GET /v2/actions/ID',
        'GET /v2/droplets',
        'GET /v2/volumes',
        'GET /v2/volumes/ID',
        'GET /v2/volumes/ID/snapshots',
        'GET /v2/volumes/snapshots/ID',
        'POST /v2/volumes',
        'POST /v2/volumes/ID/actions',
        'POST /v2/volumes/ID/snapshots',
      ]);
    });
  });
