import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ConformanceOptions, driverConformance } from '@kedge/driver-sdk/conformance';
import type { StorageSettings } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { cleanUp, requireDevices } from '../devices.js';
import { Cloud2Double } from './cloud2-double.js';
import { printSample, sampledFileSystems } from './file-systems.js';

const token = 'hcloud-token-of-the-conformance-test';

const fileSystems = sampledFileSystems(1);

for (const fsType of fileSystems)
  describe(`cloud2-volume passes the conformance suite, ${fsType}`, function () {
    this.timeout(120_000);
    let folder: string;
    let cloud: Cloud2Double;
    const leftOut: string[] = [];
    before(async function () {
      requireDevices(this);
      printSample('cloud2-volume', fileSystems);
      folder = await mkdtemp(join(tmpdir(), 'kedge-cloud2-'));
      cloud = new Cloud2Double(folder);
      cloud.tokens.set(token, 'write');
      cloud.servers
        .set('conformance', { id: 11, location: 'fsn1' })
        .set('other', { id: 12, location: 'fsn1' });
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
        'cloud2-volume': {
          endpoint: cloud.endpoint,
          deviceDirectory: cloud.disks.links('11'),
          timeouts: { deviceMs: 2_000 },
        },
      },
    });
    const options: ConformanceOptions = {
      driver: async () => (await builtinDrivers(settings()).get('cloud2-volume'))!,
      parameters: { fsType, location: 'fsn1', apiToken: token },
      sizeBytes: 10n * 1024n ** 3n,
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
    it('calls the endpoints of the specification, and volumes by name', () => {
      const paths = new Set(
        cloud.received.map(({ method, path }) => `${method} ${path.replaceAll(/\/\d+/g, '/ID')}`),
      );
      expect([...paths].sort()).to.deep.equal([
        'DELETE /v1/volumes/ID',
        'GET /v1/actions/ID',
        'GET /v1/servers',
        'GET /v1/volumes',
        'GET /v1/volumes/ID',
        'POST /v1/volumes',
        'POST /v1/volumes/ID/actions/attach',
        'POST /v1/volumes/ID/actions/detach',
        'POST /v1/volumes/ID/actions/resize',
      ]);
      const lists = cloud.received.filter(({ path }) => path === '/v1/volumes');
      const named = lists.filter(({ method, query }) => method === 'POST' || query['name']);
      expect(named).to.have.length(lists.length);
    });
  });
