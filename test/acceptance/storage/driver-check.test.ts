import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { specifiedScopes } from '../../emulators/cloud1/machine.js';
import { type RunningEmulator, startEmulator } from '../../emulators/index.js';
import { root, TestDaemon } from '../daemon.js';

const secret = 'dop_v1_check-me-if-you-can';

interface Requirement {
  readonly name: string;
  readonly state: string;
  readonly neededFor: string;
  readonly message: string;
}

describe('kedge driver check', function () {
  this.timeout(180_000);
  let folder: string;
  let cloud1: RunningEmulator;
  let cloud2: RunningEmulator;
  let daemon: TestDaemon;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-check-'));
    cloud1 = await startEmulator({
      provider: 'cloud1',
      instances: [{ name: 'worker', place: 'fra1' }],
      tokens: [
        { name: 'whole', secret, scopes: specifiedScopes },
        ...specifiedScopes.map((scope) => ({
          name: `without ${scope}`,
          secret: `without-${scope}`,
          scopes: specifiedScopes.filter((one) => one !== scope),
        })),
      ],
    });
    cloud2 = await startEmulator({
      provider: 'cloud2',
      instances: [{ name: 'other', place: 'fsn1' }],
      tokens: [{ name: 'whole', secret }],
    });
    const config = join(folder, 'kedged.toml');
    await writeFile(
      config,
      `[node]
name = "worker"
[drivers.cloud1-volume]
endpoint = "${cloud1.endpoint}"
[drivers.cloud2-volume]
endpoint = "${cloud2.endpoint}"
`,
    );
    daemon = await TestDaemon.start({
      program: join(root, 'cmd/dist/kedged/main.js'),
      arguments: ['--config', config],
    });
    const data = { token: secret };
    await daemon.ok('POST', '/v1/namespaces/default/secrets', { name: 'cloud', data });
  });
  after(async () => {
    await daemon?.dispose();
    await cloud1?.close();
    await cloud2?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const storageClass = (name: string, driver: string, parameters: object): Promise<unknown> =>
    daemon.ok('POST', '/v1/storageclasses', { name, driver, parameters });
  const check = async (name: string): Promise<ReadonlyMap<string, Requirement>> => {
    const { requirements } = await daemon.ok('POST', `/v1/storageclasses/${name}:check`, {});
    return new Map((requirements as Requirement[]).map((one) => [one.name, one]));
  };
  const missing = async (name: string): Promise<readonly string[]> =>
    [...(await check(name)).values()].filter((one) => one.state === 'missing').map((o) => o.name);

  it('finds nothing missing in a complete class, and reports the scopes that only a change would show as unknown', async () => {
    const apiToken = 'secret:cloud.default.svc/token';
    await storageClass('whole', 'cloud1-volume', { region: 'fra1', apiToken });
    const { code, stdout, stderr } = await daemon.cli('driver', 'check', 'whole');
    expect(code, stderr).to.equal(0);
    for (const row of [
      /^Driver cloud1-volume \(DigitalOcean\), checked on node worker\.$/m,
      /^endpoint http:\S+ +ok /m,
      /^droplet:read +ok +finding the Droplet of a node/m,
      /^actions:read +ok /m,
      /^block_storage:create +unknown /m,
      /^Droplet of node worker +ok /m,
      /^programs +ok .*mkfs\.ext4/m,
      /^parameter region +unknown .*"fra1"/m,
    ])
      expect(stdout).to.match(row);
    expect(stdout + stderr + daemon.log).not.to.contain(secret);
  });

  for (const scope of [
    'block_storage:read',
    'droplet:read',
    'actions:read',
    'block_storage_snapshot:read',
  ])
    it(`names the missing scope ${scope} of a token, with what does not work without it`, async () => {
      const name = `without-${scope.replaceAll(/[^a-z]/g, '-')}`;
      await storageClass(name, 'cloud1-volume', { region: 'fra1', apiToken: `without-${scope}` });
      expect(await missing(name)).to.deep.equal([scope]);
      const row = (await check(name)).get(scope);
      expect(row?.message).to.contain('provider rejected credentials').and.contain(scope);
      const { code, stdout } = await daemon.cli('driver', 'check', name);
      expect(code).to.equal(1);
      expect(stdout).to.match(new RegExp(`^${scope} +missing `, 'm'));
      expect(stdout).not.to.contain(`without-${scope}`);
    });

  it('reports a scope as unknown if its use would change something', async () => {
    const scope = 'block_storage_action:create';
    await storageClass('no-actions', 'cloud1-volume', {
      region: 'fra1',
      apiToken: `without-${scope}`,
    });
    expect((await check('no-actions')).get(scope)?.state).to.equal('unknown');
  });

  it('names a missing token, an unknown one, and a missing secret', async () => {
    await storageClass('no-token', 'cloud1-volume', { region: 'fra1' });
    expect(await missing('no-token')).to.deep.equal(['parameter apiToken']);
    await storageClass('bad-token', 'cloud1-volume', { region: 'fra1', apiToken: 'not-a-token' });
    expect(await missing('bad-token'))
      .to.include('block_storage:read')
      .and.include('droplet:read');
    const apiToken = 'secret:absent.default.svc/token';
    await storageClass('no-secret', 'cloud1-volume', { region: 'fra1', apiToken });
    const secretRow = (await check('no-secret')).get('parameter apiToken');
    expect(secretRow?.message).to.contain(
      'secret default/absent does not exist; create it, and repeat the command',
    );
    const imported = { handle: '1', storageClassName: 'no-secret', name: 'v' };
    const answers = [
      (await daemon.cli('admin', 'orphans', '--class', 'no-secret')).stderr,
      (await daemon.cli('admin', 'orphans', '--class', 'bad-token')).stderr,
      JSON.stringify(
        (await daemon.rest('POST', '/v1/namespaces/default/volumes:import', imported)).body,
      ),
      ...[...(await check('bad-token')).values()].map(({ message }) => message),
    ].join(' ');
    expect(answers)
      .to.contain('repeat the command')
      .and.contain('renew the token or add the scope');
    expect(answers).not.to.match(/retried automatically|is repeated with/);
  });

  it('names the server that cloud2 lacks, and requests neither volumes nor locations', async () => {
    const before = cloud2.requests.length;
    const apiToken = 'secret:cloud.default.svc/token';
    await storageClass('two', 'cloud2-volume', { location: 'fsn1', apiToken });
    expect(await missing('two')).to.deep.equal(['server of node worker']);
    const paths = cloud2.requests.slice(before).map(({ path }) => path);
    expect(new Set(paths)).to.deep.equal(new Set(['/v1/servers']));
  });

  it('reports that the endpoint does not answer, and that the rest is unknown', async () => {
    cloud1.faults.add({ on: () => true, times: 1_000, fault: { type: 'before' } });
    try {
      expect(await missing('whole')).to.deep.equal([`endpoint ${cloud1.endpoint}`]);
      const row = (await check('whole')).get('droplet:read');
      expect(row).to.include({ state: 'unknown', message: 'the endpoint did not answer' });
    } finally {
      cloud1.faults.clear();
    }
  });

  it('checks the node for local and local-host', async () => {
    await storageClass('images', 'local', { backing: 'image', fsType: 'xfs' });
    const images = await check('images');
    expect(images.get('rights of root')?.state).to.equal(
      process.getuid?.() === 0 ? 'ok' : 'missing',
    );
    expect([...images.keys()].some((name) => name.startsWith('storage root '))).to.equal(true);
    expect(await missing('local-host')).to.deep.equal(['parameter hostPath']);
  });

  it('needs a separate right, and is in the audit log', async () => {
    await daemon.ok('POST', '/v1/admin/policies', {
      name: 'checks',
      rules: [{ resources: ['storageclasses'], verbs: ['*'], namespaces: ['*'] }],
    });
    await daemon.ok('POST', '/v1/admin/users', { name: 'clerk', policies: ['checks'] });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'clerk' });
    const refused = await daemon.rest('POST', '/v1/storageclasses/whole:check', {}, String(token));
    expect(refused.status).to.equal(403);
    expect(JSON.stringify(refused.body)).to.contain('driverchecks');
    const of = await eventually('the record of the refusal', async () => {
      const audit = (await readFile(join(daemon.data, 'audit.jsonl'), 'utf8')).split('\n');
      const found = audit.filter((line) => line.includes('"driverchecks"'));
      return found.some((line) => line.includes('PermissionDenied')) ? found : undefined;
    });
    expect(of.some((line) => line.includes('"whole"') && line.includes('"OK"'))).to.equal(true);
    const absent = await daemon.rest('POST', '/v1/storageclasses/absent:check', {});
    expect(absent.status).to.equal(404);
  });

  it('names a label of the node that contradicts the class', async () => {
    const labelled = await daemon.cli('label', 'node', 'worker', 'svc.io/region=ams3');
    expect(labelled.code, labelled.stderr).to.equal(0);
    expect(await missing('whole')).to.deep.equal(['parameter region']);
    expect((await check('whole')).get('parameter region')?.message).to.contain(
      'svc.io/region=ams3',
    );
  });

  it('never lists regions or sizes of cloud1', () => {
    const paths = cloud1.requests.map(({ path }) => path);
    expect(paths.filter((path) => /regions|sizes/.test(path))).to.deep.equal([]);
  });
});
