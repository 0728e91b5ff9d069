import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from '../containers/engine.js';
import { cleanUp, requireDevices } from '../drivers/devices.js';
import { LoopDevices } from './devices/loop-devices.js';
import { credentialKeys, labelsOf, parametersOf, tokenOf } from './drivers/served-cloud.js';
import { type RunningEmulator, startEmulator } from './index.js';
import { driverNames, places } from './sweep/emulated-cloud.js';
import { half } from '../fixtures/seed.js';

const base = '/v1/namespaces/default';
const secret = 'the-token-of-a-dead-credential';
/** Whether a node adopts its volumes without a request, or the request that is refused. */
const scenarios = [
  { provider: 'cloud1', adoptsOffline: true, refused: /^$/ },
  { provider: 'cloud2', adoptsOffline: false, refused: /GET \/v1\/volumes\/\d+: 401 in \d+ ms/ },
  { provider: 'cloud3', adoptsOffline: false, refused: /Action=DescribeVolumes: 401 in \d+ ms/ },
  { provider: 'cloud4', adoptsOffline: false, refused: /GET \S+\/disks\/\S+: 401 in \d+ ms/ },
] as const;

for (const { provider, adoptsOffline, refused } of half(
  'nodes with a revoked credential',
  scenarios,
  (scenario) => scenario.provider,
))
  describe(`a node of ${driverNames[provider]} that starts with a revoked credential`, function () {
    this.timeout(300_000);
    let home: string;
    let engine: RealEngine | undefined;
    let cloud: RunningEmulator | undefined;
    let daemon: TestDaemon | undefined;
    const token = tokenOf(provider, 'test', secret);
    const driver = driverNames[provider];

    before(async function () {
      requireEngine(this);
      requireDevices(this);
      home = mkdtempSync(join(tmpdir(), 'kedge-dead-token-'));
      const directory = join(home, 'cloud');
      const links = join(directory, 'by-id');
      mkdirSync(links, { recursive: true });
      engine = await RealEngine.start();
      cloud = await startEmulator({
        provider,
        instances: [{ name: 'laptop', place: places[provider] }],
        tokens: [token],
        devices: new LoopDevices({ directory, deviceDirectory: () => links, clock: systemClock }),
        actionMs: 200,
      });
      const config = join(home, 'kedged.toml');
      const labels = Object.entries(labelsOf(provider)).map(
        ([key, value]) => `"${key}" = "${value}"`,
      );
      writeFileSync(
        config,
        `[node]
name = "laptop"
labels = { ${labels.join(', ')} }
[drivers.${driver}]
endpoint = "${cloud.endpoint}"
deviceDirectory = "${links}"
`,
      );
      daemon = await TestDaemon.start({
        arguments: ['--config', config],
        environment: { KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath },
      });
      const parameters = parametersOf(provider, secret);
      const key = credentialKeys[provider];
      await daemon.ok('POST', `${base}/secrets`, {
        ...{ name: 'cloud', data: { token: parameters[key] } },
      });
      await daemon.ok('POST', '/v1/storageclasses', {
        ...{ name: 'cloud', driver },
        parameters: { ...parameters, [key]: 'secret:cloud.default.svc/token' },
      });
      await daemon.ok('POST', `${base}/services`, {
        name: 'web',
        image: busyboxImage,
        command: ['sh', '-c', 'echo start >> /data/starts; exec sleep 1000'],
        terminationGracePeriodSeconds: 1,
        volumes: [
          {
            name: 'data',
            mountPath: '/data',
            claimTemplate: { storageClassName: 'cloud', size: '10Gi', accessMode: 'ReadWriteOnce' },
          },
        ],
      });
      await running();
    });
    after(async () => {
      cloud?.emulator.addToken(token);
      await daemon?.rest('DELETE', `${base}/services/web`);
      await daemon?.end('SIGTERM');
      await engine?.stop();
      await cloud?.close();
      if (home) await cleanUp(home);
      if (daemon) await cleanUp(daemon.home);
      await daemon?.dispose();
    });

    const parts = (): { daemon: TestDaemon; cloud: RunningEmulator; engine: RealEngine } => {
      if (!daemon || !cloud || !engine) throw new Error('nothing is started');
      return { daemon, cloud, engine };
    };
    const read = async (path: string): Promise<Record<string, unknown>> =>
      (await parts().daemon.rest('GET', `${base}/${path}`)).body;
    const running = () =>
      eventually(
        'the instance to run',
        async () => {
          const body = await read('instances/web-0');
          return body.status === 'Running' ? body : undefined;
        },
        90_000,
      );
    const starts = async (): Promise<string> =>
      parts().engine.docker('exec', String((await running()).containerId), 'cat', '/data/starts');
    const changesSince = (count: number): readonly string[] =>
      parts()
        .cloud.requests.slice(count)
        .filter(({ method, action = '' }) => method !== 'GET' && !action.startsWith('Describe'))
        .map(({ method, path }) => `${method} ${path}`);

    it(`keeps what runs, and ${adoptsOffline ? 'makes no request' : 'reports what it could not verify'}`, async () => {
      const before = await running();
      parts().cloud.emulator.revokeToken(token.name);
      const { length } = parts().cloud.requests;
      await parts().daemon.crash();
      const after = await running();
      expect(after.containerId).to.equal(before.containerId);
      if (adoptsOffline) {
        await eventually('the adoption', () => parts().daemon.log.includes('volumes adopted'));
        expect(parts().cloud.requests.slice(length)).to.deep.equal([]);
      } else {
        const { stdout } = await eventually('the report', async () => {
          const found = await parts().daemon.cli('why', 'volume/data-web-0');
          return found.stdout.includes('could not be asked') ? found : undefined;
        });
        expect(stdout).to.contain('nothing is detached, deleted or formatted');
        expect(stdout).to.match(refused);
      }
      expect(changesSince(length)).to.deep.equal([]);
      expect((await read('volumes/data-web-0')).status).to.equal('Bound');
      expect(await starts()).to.equal('start');
    });

    it(`after a loss of its containers it ${adoptsOffline ? 'starts them again without a request' : 'waits for the provider, and changes nothing there'}`, async () => {
      const { containerId } = await running();
      const { length } = parts().cloud.requests;
      await parts().daemon.end('SIGKILL');
      parts().engine.docker('rm', '--force', String(containerId));
      await parts().daemon.run();
      if (!adoptsOffline) {
        await eventually('the reason', async () =>
          JSON.stringify(await read('instances/web-0')).includes('401'),
        );
        expect(changesSince(length)).to.deep.equal([]);
        expect((await parts().cloud.inventory()).join()).to.contain('attached');
        parts().cloud.emulator.addToken(token);
      }
      await eventually('the second start', async () => (await starts()) === 'start\nstart', 90_000);
      if (adoptsOffline) expect(parts().cloud.requests.slice(length)).to.deep.equal([]);
    });
  });
