import { expect } from 'chai';
import { type Driver, DriverError } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { specifiedPermissions } from '../cloud3/machine.js';
import { type RunningMetadata, serveMetadata } from '../cloud3/metadata/serve.js';
import type { Token } from '../core/machine.js';
import { type RunningEmulator, startEmulator } from '../index.js';

const node = 'worker-1';
const secret = 'secret-of-the-role';
const credentials = '/latest/meta-data/iam/security-credentials/';
const role: Token = {
  ...{ name: 'role', keyId: 'ASIAROLE', secret, sessionToken: 'session-of-the-role' },
  scopes: specifiedPermissions,
};

describe('the credentials of cloud3-block on an instance whose metadata service', function () {
  this.timeout(60_000);
  const before = { ...process.env };
  let running: RunningEmulator;
  let served: RunningMetadata;
  let given: Token | undefined;
  let driver: Driver;

  beforeEach(async () => {
    running = await startEmulator({
      ...{ provider: 'cloud3', actionMs: 10, tokens: [role] },
      instances: [{ name: node, place: 'eu-central-1a' }],
    });
    given = role;
    served = await serveMetadata({ running, node, role: () => given });
    process.env = { ...before, AWS_EC2_METADATA_SERVICE_ENDPOINT: served.endpoint };
    for (const file of ['AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE'])
      process.env[file] = '/nowhere';
    // Each driver has its own chain, which remembers the credentials.
    driver = (await builtinDrivers({
      ...{ localVolumeRoot: '/nowhere', hostPathAllowlist: [], allowCreateMissing: false },
      ...{ node, clusterId: 'cluster-1' },
      drivers: { 'cloud3-block': { endpoint: running.endpoint } },
    }).get('cloud3-block'))!;
  });
  afterEach(async () => {
    process.env = { ...before };
    await served.close();
    await running.close();
  });

  const observed = async (): Promise<DriverError> => {
    const request = {
      volume: { uid: 'u-1', name: 'data', namespace: 'shop' },
      parameters: { region: 'eu-central-1' },
      ...{ handle: 'vol-00000000000000000', signal: new AbortController().signal },
    };
    const thrown = await driver.observe(request as never).then(
      () => expect.fail('no error'),
      (error: unknown) => DriverError.from(error),
    );
    expect(String(thrown)).not.to.contain(secret);
    return thrown;
  };

  const cases: Readonly<
    Record<string, { readonly fault: () => unknown; readonly kind: string; readonly says: string }>
  > = {
    'never answers': {
      fault: () => (served.metadata.silent = true),
      ...{ kind: 'Unavailable', says: 'did not answer in 1000 ms' },
    },
    'refuses the connection': {
      fault: () => served.close(),
      ...{ kind: 'Unavailable', says: "can't be reached (ECONNREFUSED)" },
    },
    'answers 500': {
      fault: () => (served.metadata.instead = { path: '/', status: 500, body: 'x' }),
      ...{ kind: 'Unavailable', says: 'answers with status 500' },
    },
    'answers a page in place of a role': {
      fault: () => (served.metadata.instead = { path: '/', status: 200, body: '<html></html>' }),
      ...{ kind: 'Unavailable', says: 'answers with a text that is not the name of a role' },
    },
    'answers a part of a credential': {
      fault: () =>
        (served.metadata.instead = {
          ...{ path: `${credentials}${node}`, status: 200, body: `"${secret}" ${secret}` },
        }),
      ...{ kind: 'Unavailable', says: 'answers with a text that is not a credential' },
    },
    'has a role that it may not use': {
      fault: () =>
        (served.metadata.instead = {
          ...{ path: `${credentials}${node}`, status: 200 },
          body: JSON.stringify({ Code: 'AssumeRoleUnauthorizedAccess', Message: secret }),
        }),
      ...{ kind: 'Unavailable', says: '(AssumeRoleUnauthorizedAccess): check the trust policy' },
    },
    'has no role': {
      fault: () => (given = undefined),
      ...{
        kind: 'CredentialsRejected',
        says: 'has no role (status 404); give the instance a role',
      },
    },
    'is switched off': {
      fault: () => (served.metadata.instead = { path: '/', status: 403, body: '' }),
      ...{ kind: 'CredentialsRejected', says: 'is switched off (status 403)' },
    },
  };
  for (const [title, { fault, kind, says }] of Object.entries(cases))
    it(`${title} have an error that names its address and the remedy`, async () => {
      await fault();
      const error = await observed();
      expect(error.message).to.contain(says).and.contain(served.endpoint);
      expect(error.message).to.contain('set accessKeyId and secretAccessKey in the class');
      expect(error.kind).to.equal(kind);
    });

  for (const [title, variables] of Object.entries({
    'has an invalid address': { AWS_EC2_METADATA_SERVICE_ENDPOINT: '169.254.169.254' },
    'has a mode that does not exist': { AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE: 'IPv5' },
  }))
    it(`${title} have an error that names the configuration`, async () => {
      delete process.env.AWS_EC2_METADATA_SERVICE_ENDPOINT;
      Object.assign(process.env, variables);
      const error = await observed();
      expect(error.message).to.contain('set accessKeyId and secretAccessKey in the class');
      expect(error.message).to.contain('AWS_EC2_METADATA_SERVICE_ENDPOINT');
      expect(error.kind).to.equal('CredentialsRejected');
    });

  it('is silent when they end have an error that names its address, and are requested again', async () => {
    // The SDK continues to use such a credential, as if the service had not answered.
    given = { ...role, expiresAt: Date.now() - 1 };
    expect((await observed()).kind).to.equal('NotFound');
    served.metadata.silent = true;
    running.emulator.addToken({ ...role, expiresAt: 1 });
    const error = await observed();
    expect(error.message).to.contain('did not answer in 1000 ms').and.contain(served.endpoint);
    expect(error.kind).to.equal('Unavailable');
    expect((await observed()).kind).to.equal('Unavailable');
    served.metadata.silent = false;
    given = role;
    running.emulator.addToken(role);
    expect((await observed()).kind).to.equal('NotFound');
  });

  it('gave ones that the provider rejects are rejected', async () => {
    expect((await observed()).kind).to.equal('NotFound');
    running.emulator.addToken({ ...role, expiresAt: 1 });
    expect((await observed()).kind).to.equal('CredentialsRejected');
  });

  it('answers again are found at the next call', async () => {
    served.metadata.silent = true;
    expect((await observed()).kind).to.equal('Unavailable');
    served.metadata.silent = false;
    expect((await observed()).kind).to.equal('NotFound');
  });
});
