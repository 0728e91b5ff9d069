import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from '../containers/engine.js';
import { cleanUp, requireDevices } from '../drivers/devices.js';
import { specifiedPermissions as keyPermissions } from './cloud3/machine.js';
import { type RunningMetadata, serveMetadata } from './cloud3/metadata/serve.js';
import type { Token } from './core/machine.js';
import { LoopDevices } from './devices/loop-devices.js';
import { makeServiceAccount, specifiedPermissions } from './cloud4/service-account.js';
import { labelsOf, tokenOf } from './drivers/served-cloud.js';
import { type ProviderName, type RunningEmulator, startEmulator } from './index.js';
import { driverNames, places } from './sweep/emulated-cloud.js';

const base = '/v1/namespaces/default';
const node = 'laptop';
const keySecret = 'secret-of-the-role-of-the-node';
const session = 'session-of-the-role-of-the-node';

/** The temporary key of the role of the node at cloud3. */
const role: Token = {
  ...{ name: 'role', keyId: 'ASIAROLE', secret: keySecret, sessionToken: session },
  scopes: keyPermissions,
};

/** Parameters of a class without credentials; that of cloud4 names no project either. */
const parameters = {
  cloud3: { region: 'eu-central-1', availabilityZone: places.cloud3 },
  cloud4: { zone: places.cloud4 },
} as const;

const classSecret = 'secret-of-the-key-in-the-class';

/** The credential that a class names first, with its parameters. */
const ofClass = {
  cloud3: () => ({
    token: { name: 'class', keyId: 'AKIACLASS', secret: classSecret, scopes: keyPermissions },
    parameters: { accessKeyId: 'AKIACLASS', secretAccessKey: classSecret },
  }),
  cloud4: () => {
    const { token, credentialsJSON } = makeServiceAccount('class', {
      permissions: specifiedPermissions,
    });
    return { token, parameters: { credentialsJSON } };
  },
} as const;

/** The metadata service of a node: the variables of the daemon that name it, and the requested paths. */
interface ServedMetadata {
  readonly environment: Readonly<Record<string, string>>;
  readonly asked: () => readonly string[];
  readonly close: () => Promise<void>;
}

async function metadataOf(
  provider: 'cloud3' | 'cloud4',
  running: RunningEmulator,
): Promise<ServedMetadata> {
  if (provider === 'cloud4') {
    const { endpoint, server } = running.metadata!;
    return {
      environment: { GCE_METADATA_HOST: new URL(endpoint).host },
      asked: () => server.requests,
      close: () => Promise.resolve(),
    };
  }
  const served: RunningMetadata = await serveMetadata({ running, node, role: () => role });
  return {
    environment: { AWS_EC2_METADATA_SERVICE_ENDPOINT: served.endpoint },
    asked: () => served.metadata.requests,
    close: () => served.close(),
  };
}

for (const provider of ['cloud3', 'cloud4'] as const satisfies readonly ProviderName[])
  describe(`a class of ${driverNames[provider]} without credentials, on an instance with a role (specification 5.3.4)`, function () {
    this.timeout(300_000);
    const driver = driverNames[provider];
    const token = provider === 'cloud3' ? role : tokenOf('cloud4', 'test', '');
    const named: { readonly token: Token; readonly parameters: Readonly<Record<string, string>> } =
      ofClass[provider]();
    let home: string;
    let engine: RealEngine | undefined;
    let cloud: RunningEmulator;
    let metadata: ServedMetadata;
    let daemon: TestDaemon;

    before(async function () {
      requireEngine(this);
      requireDevices(this);
      home = mkdtempSync(join(tmpdir(), 'kedge-role-'));
      const directory = join(home, 'cloud');
      const links = join(directory, 'by-id');
      mkdirSync(links, { recursive: true });
      engine = await RealEngine.start();
      cloud = await startEmulator({
        provider,
        instances: [{ name: node, place: places[provider] }],
        // The account of the instance is the first one.
        tokens: [token, named.token],
        devices: new LoopDevices({ directory, deviceDirectory: () => links, clock: systemClock }),
        actionMs: 100,
        ...(provider === 'cloud4' ? { metadata: { instance: node } } : {}),
      });
      metadata = await metadataOf(provider, cloud);
      const config = join(home, 'kedged.toml');
      const labels = Object.entries(labelsOf(provider)).map(
        ([key, value]) => `"${key}" = "${value}"`,
      );
      writeFileSync(
        config,
        `[node]
name = "${node}"
labels = { ${labels.join(', ')} }
[drivers.${driver}]
endpoint = "${cloud.endpoint}"
deviceDirectory = "${links}"
`,
      );
      daemon = await TestDaemon.start({
        arguments: ['--config', config],
        environment: {
          KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath,
          // Credentials of the machine of the test come before those of the role.
          AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
          AWS_CONFIG_FILE: '/nowhere',
          ...metadata.environment,
        },
      });
      await daemon.ok('POST', '/v1/storageclasses', {
        ...{ name: 'cloud', driver, reclaimPolicy: 'delete', parameters: parameters[provider] },
      });
    });
    after(async () => {
      await daemon?.end('SIGTERM');
      await metadata?.close();
      await engine?.stop();
      await cloud?.close();
      if (home) await cleanUp(home);
      if (daemon) await cleanUp(daemon.home);
      await daemon?.dispose();
    });

    const gone = (path: string) =>
      eventually(
        `${path} to be gone`,
        async () => (await daemon.rest('GET', `${base}/${path}`)).status === 404,
        90_000,
      );

    const service = (storageClassName: string): Promise<unknown> =>
      daemon.ok('POST', `${base}/services`, {
        ...{ name: 'web', image: busyboxImage, terminationGracePeriodSeconds: 1 },
        command: ['sh', '-c', 'echo start >> /data/starts; sync; exec sleep 1000'],
        volumes: [
          {
            name: 'data',
            mountPath: '/data',
            claimTemplate: { storageClassName, size: '10Gi', accessMode: 'ReadWriteOnce' },
          },
        ],
      });
    const running = () =>
      eventually(
        'the instance to run',
        async () => {
          const { body } = await daemon.rest('GET', `${base}/instances/web-0`);
          return body.status === 'Running' && body;
        },
        90_000,
      );

    it('driver check finds nothing missing', async () => {
      const { code, stdout } = await daemon.cli('driver', 'check', 'cloud');
      expect(stdout).not.to.match(/\bmissing\b/);
      expect(code).to.equal(0);
    });

    it('its volume is provisioned, attached, written, detached and deleted with the credential of the instance', async () => {
      await service('cloud');
      const instance = await running();
      const read = () =>
        engine?.docker('exec', String(instance.containerId), 'cat', '/data/starts');
      await eventually('what it wrote', () => read() === 'start');
      expect((await cloud.inventory()).filter((line) => /^attached/.test(line))).to.have.length(1);
      await daemon.ok('DELETE', `${base}/services/web`);
      await gone('services/web');
      await daemon.rest('DELETE', `${base}/volumes/data-web-0`);
      await gone('volumes/data-web-0');
      expect(await cloud.inventory()).to.deep.equal([]);
    });

    it('each request has it, at most 20 metadata requests were made, and the log does not contain it', () => {
      const used = new Set(cloud.requests.map(({ token: name }) => name));
      expect([...used]).to.deep.equal([token.name]);
      const asked = metadata.asked();
      console.log(
        `      ${cloud.requests.length} requests, ${asked.length} of the metadata service`,
      );
      expect(asked.length).to.be.within(1, 20);
      expect(cloud.emulator.violations).to.deep.equal([]);
      for (const secret of [keySecret, session, 'PRIVATE KEY'])
        expect(daemon.log).not.to.contain(secret);
    });

    it('a class whose own credential is removed: detach and deletion have that of the instance, and no call the captured one', async () => {
      await daemon.ok('POST', '/v1/storageclasses', {
        ...{ name: 'named', driver, reclaimPolicy: 'delete' },
        parameters: { ...parameters[provider], ...named.parameters },
      });
      const began = cloud.requests.length;
      await service('named');
      await running();
      const first = cloud.requests.slice(began).map(({ token: name }) => name);
      expect([...new Set(first)]).to.deep.equal([named.token.name]);

      const { parameters: _, ...form } = await daemon.ok('GET', '/v1/storageclasses/named');
      const without = { ...form, parameters: parameters[provider] };
      await daemon.ok('PUT', '/v1/storageclasses/named', without);
      cloud.emulator.revokeToken(named.token.name);
      const changed = cloud.requests.length;
      await daemon.ok('DELETE', `${base}/services/web`);
      await gone('services/web');
      await daemon.rest('DELETE', `${base}/volumes/data-web-0`);
      await gone('volumes/data-web-0');
      expect(await cloud.inventory()).to.deep.equal([]);
      const later = cloud.requests.slice(changed);
      expect([...new Set(later.map(({ token: name }) => name))]).to.deep.equal([token.name]);
      expect(cloud.emulator.violations).to.deep.equal([]);
      for (const secret of [classSecret, keySecret, session, 'PRIVATE KEY'])
        expect(daemon.log).not.to.contain(secret);
    });
  });
