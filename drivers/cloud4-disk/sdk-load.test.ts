import { createRequire } from 'node:module';
import { expect } from 'chai';
import { loadSdkInTurns, reduceDefinitions } from './sdk-load.js';

const require = createRequire(import.meta.url);

interface Definitions {
  readonly nested: Readonly<Record<string, Definitions>>;
}

function isInstalled(): boolean {
  try {
    require.resolve('@google-cloud/compute');
    return true;
  } catch (error) {
    if (process.env['CI']) throw error;
    console.log('skipped: @google-cloud/compute is not installed; npm test installs it');
    return false;
  }
}

describe('the load of the SDK of cloud4-disk', function () {
  this.timeout(120_000);

  it('keeps the wanted services with all messages that they need, and drops the others', () => {
    const message = (...types: string[]) => ({
      fields: Object.fromEntries(types.map((type, id) => [`f${id}`, { type, id }])),
    });
    const v1 = {
      Disks: { methods: { Get: { requestType: 'GetDisk', responseType: 'Disk' } } },
      GetDisk: message('string'),
      Disk: message('google.cloud.compute.v1.Key', 'int32'),
      Key: message('string'),
      Operation: message('string'),
      Routers: { methods: { Get: { requestType: 'GetRouter', responseType: 'Router' } } },
      GetRouter: message('string'),
      Router: message('Key'),
    };
    const compute = { v1: { nested: v1 }, v1beta: { nested: {} } };
    const root = {
      nested: { google: { nested: { cloud: { nested: { compute: { nested: compute } } } } } },
    };
    reduceDefinitions(root, ['Disks']);
    expect(Object.keys(v1)).to.have.members(['Disks', 'GetDisk', 'Disk', 'Key', 'Operation']);
    expect(Object.keys(compute)).to.deep.equal(['v1']);
    expect(() => reduceDefinitions({}, ['Disks'])).to.throw(TypeError);
    expect(() => reduceDefinitions(root, ['Routers'])).to.throw(TypeError);
  });

  it('returns the clients that the driver uses, and leaves the whole SDK to others in the process', async function () {
    if (!isInstalled()) this.skip();
    const { compute, auth } = await loadSdkInTurns();
    expect(Object.keys(compute)).to.have.members([
      'DisksClient',
      'InstancesClient',
      'SnapshotsClient',
      'ZoneOperationsClient',
      'GlobalOperationsClient',
    ]);
    expect(auth).to.have.property('JWT');
    const path = createRequire(require.resolve('@google-cloud/compute')).resolve(
      '../protos/protos.json',
    );
    const { google } = (require(path) as Definitions).nested;
    const v1 = google?.nested['cloud']?.nested['compute']?.nested['v1']?.nested;
    expect(v1).to.include.keys('Disks', 'Routers');
  });
});
