import { inspect } from 'node:util';
import { expect } from 'chai';
import type { PermissionReport } from '@kedge/driver-sdk';
import type { TransportRequest } from '@kedge/driver-sdk/provider';
import { createCloud3BlockDriver } from './driver.js';

const sessionToken = 'session+token/of=the==test';
const secretAccessKey = 'secret-of-the-test';
const { signal } = new AbortController();

function driverOver(transport: (request: TransportRequest) => string, status = 403) {
  return createCloud3BlockDriver({
    ...{ localVolumeRoot: '/nowhere', hostPathAllowlist: [], allowCreateMissing: false },
    ...{ node: 'worker-1', clusterId: 'cluster-1' },
    drivers: { 'cloud3-block': { endpoint: 'http://127.0.0.1:1' } },
    providers: {
      transport: async (request) => ({ status, headers: {}, text: transport(request) }),
    },
  });
}

describe('the credentials of cloud3-block', () => {
  it('remain usable after an answer without a body, which is reported', async () => {
    const driver = driverOver(() => '', 200);
    const parameters = { region: 'eu-central-1', accessKeyId: 'AKIATEST', secretAccessKey };
    const volume = { uid: 'u-1', namespace: 'default', name: 'data' };
    const request = { volume, parameters, signal, handle: 'vol-1', operations: {} } as never;
    const error: unknown = await driver.observe(request).catch((thrown: unknown) => thrown);
    expect(error).to.include({ kind: 'Unavailable' });
    expect(String(error)).to.contain('answered DescribeVolumes with an empty body');
  });

  it('are in no error and no journal if the provider repeats them: neither the key nor the session token', async () => {
    const driver = driverOver(({ headers }) => {
      const message = `not valid: ${headers['x-amz-security-token'] ?? ''} ${secretAccessKey}`;
      return `<Response><Errors><Error><Code>AuthFailure</Code><Message>${message}</Message></Error></Errors></Response>`;
    });
    const parameters = {
      ...{ region: 'eu-central-1', accessKeyId: 'AKIATEST', secretAccessKey, sessionToken },
    };
    const volume = { uid: 'u-1', namespace: 'default', name: 'data' };
    const request = { volume, parameters, signal, handle: 'vol-1', operations: {} } as never;
    const error: unknown = await driver.observe(request).catch((thrown: unknown) => thrown);
    const inspected = inspect([error, driver.recentCalls?.('u-1')], { depth: 9, showHidden: true });
    expect(inspected).to.contain('not valid: ***');
    expect(inspected).not.to.contain(sessionToken).and.not.to.contain(secretAccessKey);
  });

  it('are missing in a check where the chain of the provider finds none; the endpoint is not reported as ok', async () => {
    const names = ['AWS_EC2_METADATA_DISABLED', 'AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE'];
    const earlier = names.map((name) => [name, process.env[name]] as const);
    Object.assign(process.env, Object.fromEntries(names.map((name) => [name, '/nowhere'])));
    process.env['AWS_EC2_METADATA_DISABLED'] = 'true';
    let asked = 0;
    const driver = driverOver(() => String((asked += 1)));
    try {
      const parameters = { region: 'eu-central-1' };
      const rows: readonly PermissionReport[] =
        (await driver.check?.({ parameters, node: 'worker-1', signal })) ?? [];
      expect(asked).to.equal(0);
      const stateOf = (wanted: string): unknown =>
        rows.find(({ permission }) => permission.startsWith(wanted))?.state;
      expect(stateOf('endpoint')).not.to.equal('ok');
      expect(stateOf('parameter accessKeyId')).to.equal('missing');
      expect(stateOf('ec2:DescribeVolumes')).to.equal('unknown');
    } finally {
      for (const [name, value] of earlier)
        if (value === undefined) Reflect.deleteProperty(process.env, name);
        else process.env[name] = value;
    }
  });
});
