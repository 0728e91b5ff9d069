import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually, FakeClock } from 'kedge/testing';
import { providerSdk } from '../core/provider-sdk.js';
import { type RunningEmulator, startEmulator } from '../index.js';
import { type RunningMetadata, serveMetadata } from './metadata/serve.js';

type Json = Readonly<Record<string, unknown>>;
interface Client {
  send(command: object): Promise<Json>;
  destroy(): void;
}
/** The part of the provider's own client that this test uses. */
interface Sdk {
  readonly EC2Client: new (options: object) => Client;
  readonly [command: `${string}Command`]: new (input: object) => object;
}

describe("cloud3 and the provider's own client", function () {
  this.timeout(120_000);
  const key = { name: 'kedge', keyId: 'AKIAKEDGE', secret: 'with+/=signs' };
  const role = {
    ...{ name: 'role', keyId: 'ASIAROLE', secret: 'role-secret', sessionToken: 'role-session' },
  };
  let sdk: Sdk;
  let running: RunningEmulator | undefined;
  let metadata: RunningMetadata | undefined;
  const clients: Client[] = [];

  before(async function () {
    sdk = await providerSdk<Sdk>(this, '@aws-sdk/client-ec2');
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await metadata?.close();
    await running?.close();
    metadata = undefined;
    running = undefined;
  });

  const start = async (signatureClock = systemClock): Promise<RunningEmulator> => {
    const instances = [{ name: 'node-1', place: 'eu-central-1a' }];
    running = await startEmulator({
      ...{ provider: 'cloud3', instances, tokens: [key, role], actionMs: 50, signatureClock },
    });
    return running;
  };
  const clientOf = ({ endpoint }: RunningEmulator, options: object = {}): Client => {
    const credentials = { accessKeyId: key.keyId, secretAccessKey: key.secret };
    const client = new sdk.EC2Client({
      ...{ endpoint, region: 'eu-central-1', maxAttempts: 1, credentials, ...options },
    });
    clients.push(client);
    return client;
  };
  const asking =
    (client: Client) =>
    (action: string, input: object = {}): Promise<Json> => {
      const Command = sdk[`${action}Command`];
      if (!Command) throw new Error(`the client has no ${action}`);
      return client.send(new Command(input));
    };

  it('agree on the life of a volume', async () => {
    const ask = asking(clientOf(await start()));
    const Tags = [
      { Key: 'svc.io/volume-id', Value: 'uid-1' },
      { Key: 'Name', Value: 'a <&> é*' },
    ];
    const { VolumeId } = await ask('CreateVolume', {
      ...{ AvailabilityZone: 'eu-central-1a', Size: 10, VolumeType: 'gp3', Encrypted: true },
      ...{ ClientToken: 'once', TagSpecifications: [{ ResourceType: 'volume', Tags }] },
    });
    const described = async (): Promise<Json> => {
      const Filters = [{ Name: 'tag:svc.io/volume-id', Values: ['uid-1'] }];
      const { Volumes } = await ask('DescribeVolumes', { Filters });
      return (Volumes as readonly Json[])[0] ?? {};
    };
    const state = (wanted: string) =>
      eventually(wanted, async () => (await described())['State'] === wanted);
    await state('available');
    expect(await described()).to.deep.include({ VolumeId, Size: 10, Encrypted: true, Tags });
    const { Reservations } = await ask('DescribeInstances');
    const [{ Instances } = { Instances: [] }] = Reservations as readonly {
      readonly Instances: readonly Json[];
    }[];
    const InstanceId = Instances[0]?.['InstanceId'];
    await ask('AttachVolume', { VolumeId, InstanceId, Device: '/dev/xvdaa' });
    await state('in-use');
    await ask('ModifyVolume', { VolumeId, Size: 20 });
    await eventually('the new size', async () => (await described())['Size'] === 20);
    const { SnapshotId } = await ask('CreateSnapshot', { VolumeId });
    await ask('DeleteSnapshot', { SnapshotId });
    await ask('DetachVolume', { VolumeId, InstanceId });
    await state('available');
    await ask('DeleteVolume', { VolumeId });
    expect(running?.emulator.requests.filter(({ status }) => status !== 200)).to.deep.equal([]);
  });

  it('agree on errors and their request ids', async () => {
    const ask = asking(clientOf(await start()));
    const input = { VolumeIds: ['vol-00000000000000000'] };
    const error = await ask('DescribeVolumes', input).then(
      () => undefined,
      (thrown: unknown) => thrown as Json,
    );
    expect(error).to.include({ name: 'InvalidVolume.NotFound' });
    expect(error?.['$metadata']).to.include({ httpStatusCode: 400, requestId: 'emulated-000001' });
  });

  it('agree on the key of a role, which the client takes from the metadata service', async () => {
    const emulator = await start();
    metadata = await serveMetadata({ running: emulator, node: 'node-1', role: () => role });
    const name = 'AWS_EC2_METADATA_SERVICE_ENDPOINT';
    const before = process.env[name];
    process.env[name] = metadata.endpoint;
    try {
      await asking(clientOf(emulator, { credentials: undefined }))('DescribeVolumes');
    } finally {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    }
    expect(emulator.requests.map(({ token, status }) => `${token} ${status}`)).to.deep.equal([
      'role 200',
    ]);
  });

  it('agree on the time after a first refusal, if their clocks differ', async () => {
    const ask = asking(clientOf(await start(new FakeClock(Date.now() + 3_600_000))));
    const first = await ask('DescribeVolumes').then(
      () => 'answered',
      (error: unknown) => (error as Error).name,
    );
    expect(first).to.equal('RequestExpired');
    await ask('DescribeVolumes');
  });
});
