import { expect } from 'chai';
import { providerSdk } from '../core/provider-sdk.js';
import { type RunningEmulator, startEmulator } from '../index.js';
import { makeServiceAccount } from './service-account.js';

/** The part of the provider's own client that this test uses. */
interface Sdk {
  readonly DisksClient: new (options: object) => DisksClient;
  readonly ZoneOperationsClient: new (
    options: object,
  ) => { wait(request: object): Promise<[Named]> };
}
interface DisksClient {
  insert(request: object): Promise<[{ readonly latestResponse: Named }]>;
  get(request: object): Promise<[Named]>;
  listAsync(request: object): AsyncIterable<Named>;
}
type Named = Readonly<Record<string, unknown>> & { readonly name: string };

interface AuthLibrary {
  readonly JWT: new (options: object) => object;
  readonly GoogleAuth: new (
    options: object,
  ) => { getProjectId(): Promise<string>; getClient(): Promise<object> };
}

const zone = 'europe-west3-a';

describe("cloud4 and the provider's own client", function () {
  this.timeout(60_000);
  const account = makeServiceAccount('kedge');
  let running: RunningEmulator;
  let sdk: Sdk;
  let auth: AuthLibrary;

  before(async function () {
    sdk = await providerSdk<Sdk>(this, '@google-cloud/compute');
    auth = await providerSdk<AuthLibrary>(this, 'google-auth-library');
    running = await startEmulator({
      ...{ provider: 'cloud4', tokens: [account.token], actionMs: 200 },
      ...{ instances: [{ name: 'node-1', place: zone }], metadata: { instance: 'node-1' } },
    });
  });

  after(() => running?.close());

  const options = (authClient: object): object => {
    const { hostname, port } = new URL(running.endpoint);
    return { apiEndpoint: hostname, port: Number(port), protocol: 'http', authClient };
  };
  const where = { project: 'emulated-project', zone };

  async function lifeWith(authClient: object, prefix: string): Promise<void> {
    const disks = new sdk.DisksClient(options(authClient));
    const operations = new sdk.ZoneOperationsClient(options(authClient));
    for (const name of ['a', 'b', 'c'].map((one) => prefix + one)) {
      const type = `projects/emulated-project/zones/${zone}/diskTypes/pd-balanced`;
      const diskResource = { name, sizeGb: '10', type, labels: { owner: 'kedge' } };
      const [{ latestResponse }] = await disks.insert({ ...where, diskResource });
      const { name: operation } = latestResponse;
      expect((await operations.wait({ ...where, operation }))[0]['status']).to.equal('DONE');
      const [disk] = await disks.get({ ...where, disk: name });
      expect(disk).to.include({ name, status: 'READY', sizeGb: '10' });
    }
    // Two pages.
    const listed: string[] = [];
    const filter = `name eq '${prefix}.*'`;
    for await (const { name } of disks.listAsync({ ...where, filter })) listed.push(name);
    expect(listed).to.deep.equal(['a', 'b', 'c'].map((one) => prefix + one));
    const failure = await disks.get({ ...where, disk: 'none' }).then(
      () => undefined,
      (error: unknown) => error as { code: number; message: string },
    );
    expect(failure?.code).to.equal(404);
    expect(failure?.message).to.contain('notFound');
  }

  it('agree with a key', async () => {
    const { client_email: email, private_key: key } = JSON.parse(account.credentialsJSON) as Record<
      string,
      string
    >;
    const scopes = ['https://www.googleapis.com/auth/cloud-platform'];
    const jwt = new auth.JWT({ email, key, scopes });
    Object.assign(jwt, { useJWTAccessWithScope: true });
    await lifeWith(jwt, 'key-');
    expect(running.emulator.violations).to.deep.equal([]);
    expect(running.requests.every(({ token }) => token === account.token.name)).to.equal(true);
  });

  it('agree with the metadata server of an instance', async () => {
    const before = { ...process.env };
    process.env['GCE_METADATA_HOST'] = new URL(running.metadata?.endpoint ?? '').host;
    process.env['METADATA_SERVER_DETECTION'] = 'assume-present';
    try {
      const google = new auth.GoogleAuth({ scopes: ['https://www.googleapis.com/auth/compute'] });
      expect(await google.getProjectId()).to.equal('emulated-project');
      await lifeWith(await google.getClient(), 'role-');
    } finally {
      process.env = before;
    }
    expect(running.metadata?.server.requests).to.include(
      '/computeMetadata/v1/instance/service-accounts/default/token',
    );
  });
});
