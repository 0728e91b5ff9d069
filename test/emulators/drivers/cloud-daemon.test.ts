import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { root, TestDaemon } from '../../acceptance/daemon.js';
import { type RunningEmulator, startEmulator } from '../index.js';
import { tokenOf } from './served-cloud.js';

const base = '/v1/namespaces/default';
const tokens = ['dop_v1_first-token', 'dop_v1_second-token', 'dop_v1_of-the-node'] as const;
/** Modules that only drivers of cloud providers need. */
const ofProviders = /\/drivers\/dist\/cloud|\/drivers\/sdk\/dist\/(http\/|provider\/index\.js)/;

function nameIn(body = '{}'): string {
  return (JSON.parse(body) as { readonly name: string }).name;
}

describe('a daemon with a class of a cloud provider', function () {
  this.timeout(180_000);
  let folder: string;
  let cloud: RunningEmulator;
  let daemon: TestDaemon;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-cloud-daemon-'));
    cloud = await startEmulator({
      provider: 'cloud1',
      actionMs: 10,
      tokens: tokens.map((secret, n) => tokenOf('cloud1', `token ${n + 1}`, secret)),
    });
    const config = join(folder, 'kedged.toml');
    await writeFile(
      config,
      `[drivers.cloud1-volume]
endpoint = "${cloud.endpoint}"
deviceDirectory = "${join(folder, 'links')}"
apiTokenSecretRef = "default/of-the-node"
[drivers.cloud1-volume.timeouts]
requestMs = 2000
`,
    );
    daemon = await TestDaemon.start({
      program: join(root, 'cmd/dist/kedged/main.js'),
      arguments: ['--config', config],
      environment: { NODE_DEBUG: 'esm,module' },
    });
  });
  after(async () => {
    await daemon?.dispose();
    await cloud?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const volume = (name: string, storageClassName: string) =>
    daemon.ok('POST', `${base}/volumes`, {
      name,
      storageClassName,
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
    });
  const until = async (name: string, status: string): Promise<Record<string, unknown>> => {
    let found: Record<string, unknown> = {};
    await eventually(`${name} ${status}`, async () => {
      found = (await daemon.rest('GET', `${base}/volumes/${name}`)).body;
      return found.status === status;
    });
    return found;
  };
  const metrics = async (): Promise<string> =>
    (await fetch(`http://${daemon.opsAddress}/metrics`)).text();

  it('loads no module of a provider before such a class exists', async () => {
    await volume('plain', 'local');
    await until('plain', 'Available');
    expect(daemon.log, 'what it loads').to.match(/\/drivers\/dist\/local\/index\.js/);
    expect(daemon.log).not.to.match(ofProviders);
    expect(await metrics()).not.to.contain('kedge_provider');
  });

  it('provisions at its endpoint with the token of the secret, in the region of the class', async () => {
    const apiToken = 'secret:cloud.default.svc/token';
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'fra',
      driver: 'cloud1-volume',
      reclaimPolicy: 'delete',
      parameters: { region: 'fra1', apiToken },
    });
    await volume('data', 'fra');
    expect((await until('data', 'Failed')).failureMessage).to.contain(
      'default/cloud does not exist',
    );
    await daemon.ok('POST', `${base}/secrets`, { name: 'cloud', data: { token: tokens[0] } });
    const { handle, topology } = await until('data', 'Available');
    const [made] = cloud.requests.filter(({ method }) => method === 'POST');
    expect(JSON.parse(made?.body ?? '{}')).to.include({ region: 'fra1' });
    expect(await cloud.inventory()).to.deep.equal([
      `volume ${String(handle)} ${nameIn(made?.body)}`,
    ]);
    expect(topology).to.deep.equal({ 'svc.io/region': 'fra1' });
    expect(daemon.log).to.match(ofProviders);
  });

  it('measures calls and the budget', async () => {
    const text = await metrics();
    expect(text).to.contain(
      'kedge_provider_operations_seconds_count{driver="cloud1-volume",call="createVolume",error=""} 1',
    );
    expect(text).to.match(
      /^kedge_provider_budget_left\{driver="cloud1-volume",credential="\w+"\} \d+$/m,
    );
  });

  it('uses a rotated token at once, and the token of the node when the class has none', async () => {
    await daemon.ok('PUT', `${base}/secrets/cloud`, { name: 'cloud', data: { token: tokens[1] } });
    await daemon.ok('DELETE', `${base}/volumes/data`);
    await eventually('its deletion', async () => (await cloud.inventory()).length === 0);
    expect(cloud.requests.at(-1)?.token).to.equal('token 2');
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'bare',
      driver: 'cloud1-volume',
      parameters: { region: 'fra1' },
    });
    await volume('bare', 'bare');
    expect((await until('bare', 'Failed')).failureMessage).to.contain(
      'parameter apiTokenSecretRef: secret default/of-the-node does not exist',
    );
    const data = { token: tokens[2] };
    await daemon.ok('POST', `${base}/secrets`, { name: 'of-the-node', data });
    await until('bare', 'Available');
    expect(cloud.requests.at(-1)?.token).to.equal('token 3');
  });

  it('shows the last requests of a volume that is refused, in kedge why and describe', async () => {
    cloud.emulator.revokeToken('token 3');
    await volume('refused', 'bare');
    await until('refused', 'Failed');
    const expected =
      /\S+ GET \/v2\/volumes\?name=\S+region=fra1\S*: 401 in \d+ ms, CredentialsRejected/;
    for (const command of ['why', 'describe']) {
      const { stdout } = await daemon.cli(command, 'volume/refused');
      expect(stdout, command).to.match(expected);
    }
    cloud.emulator.addToken(tokenOf('cloud1', 'token 3', tokens[2]));
  });

  it('has no token in its log, answers, metrics and files', async () => {
    const paths = ['volumes', 'events', 'secrets', 'volumes/bare:describe'];
    const answers = await Promise.all(
      paths.map(async (path) => JSON.stringify((await daemon.rest('GET', `${base}/${path}`)).body)),
    );
    const files = await readdir(daemon.data, { recursive: true, withFileTypes: true });
    const stored = await Promise.all(
      files
        .filter((entry) => entry.isFile())
        .map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')),
    );
    const texts = [daemon.log, await metrics(), ...answers, ...stored].join('\n');
    for (const token of tokens) expect(texts).not.to.contain(token);
  });
});
