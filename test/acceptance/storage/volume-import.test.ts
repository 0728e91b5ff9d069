import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { specifiedScopes } from '../../emulators/cloud1/machine.js';
import { type RunningEmulator, startEmulator } from '../../emulators/index.js';
import { type Answer, root, TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';
const secret = 'the-token-of-the-import-test';
const theirs = '11111111-2222-4333-8444-555555555555';

describe('orphans and imported volumes', function () {
  this.timeout(180_000);
  let folder: string;
  let cloud1: RunningEmulator;
  let cloud2: RunningEmulator;
  let daemon: TestDaemon;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-import-'));
    const actionMs = 0;
    cloud1 = await startEmulator({
      provider: 'cloud1',
      actionMs,
      tokens: [
        { name: 'five', secret, scopes: specifiedScopes },
        { name: 'person', secret: 'person' },
      ],
    });
    cloud2 = await startEmulator({
      provider: 'cloud2',
      actionMs,
      tokens: [{ name: 'it', secret }],
    });
    const config = join(folder, 'kedged.toml');
    await writeFile(
      config,
      `[drivers.cloud1-volume]
endpoint = "${cloud1.endpoint}"
[drivers.cloud2-volume]
endpoint = "${cloud2.endpoint}"
`,
    );
    daemon = await TestDaemon.start({
      program: join(root, 'cmd/dist/kedged/main.js'),
      arguments: ['--config', config],
    });
    const apiToken = 'secret:cloud.default.svc/token';
    await daemon.ok('POST', `${base}/secrets`, { name: 'cloud', data: { token: secret } });
    const classOf = (name: string, driver: string, parameters: object): Promise<unknown> =>
      daemon.ok('POST', '/v1/storageclasses', { name, driver, parameters });
    await classOf('one', 'cloud1-volume', { region: 'fra1', apiToken });
    await classOf('far', 'cloud1-volume', { region: 'nyc3', apiToken });
    await classOf('two', 'cloud2-volume', { location: 'fsn1', apiToken });
  });
  after(async () => {
    await daemon?.dispose();
    await cloud1?.close();
    await cloud2?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const asPerson = async (
    { endpoint }: RunningEmulator,
    path: string,
    body: object,
  ): Promise<Record<string, unknown>> => {
    const token = endpoint === cloud1.endpoint ? 'person' : secret;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${endpoint}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const { volume } = (await response.json()) as { readonly volume: Record<string, unknown> };
    return volume;
  };
  const byHand = async (name: string, description = '', region = 'fra1'): Promise<string> => {
    const body = { name, region, size_gigabytes: 2, description };
    return String((await asPerson(cloud1, '/v2/volumes', body)).id);
  };
  const commands = async (...args: readonly string[]): Promise<readonly string[]> => {
    const { code, stdout, stderr } = await daemon.cli('admin', 'orphans', ...args);
    expect(code, stderr).to.equal(0);
    return stdout.split('\n').filter((line) => line.startsWith('kedge volume import'));
  };
  const run = (command: string) => daemon.cli(...command.split(' ').slice(1));
  const imported = (name: string, fields: object): Promise<Answer> =>
    daemon.rest('POST', `${base}/volumes:import`, { name, storageClassName: 'one', ...fields });
  const volume = (name: string) => daemon.ok('GET', `${base}/volumes/${name}`);
  const gone = async (name: string): Promise<void> => {
    await daemon.ok('DELETE', `${base}/volumes/${name}`);
    await eventually(
      `${name} to be gone`,
      async () => (await daemon.rest('GET', `${base}/volumes/${name}`)).status === 404,
    );
  };

  it('a volume whose object was removed is an orphan, and the printed command imports it under its name', async () => {
    for (const storageClassName of ['one', 'two']) {
      const name = `data-${storageClassName}`;
      await daemon.ok('POST', `${base}/volumes`, {
        name,
        storageClassName,
        size: '10Gi',
        accessMode: 'ReadWriteOnce',
      });
      await eventually(
        `${name} Available`,
        async () => (await volume(name)).status === 'Available',
      );
      expect(await commands(), 'while it has an object').to.deep.equal([]);
      const { handle } = await volume(name);
      await gone(name);
      const [command = '', ...others] = await commands();
      expect(others).to.deep.equal([]);
      expect(command).to.contain(`--class ${storageClassName} --handle ${String(handle)}`);
      expect(command).to.not.contain('--take-over');
      expect((await run(command)).code).to.equal(0);
      const back = (await daemon.list(`${base}/volumes`)).find((one) => one.handle === handle);
      expect(back).to.include({ status: 'Available', reclaimPolicy: 'retain', size: '10Gi' });
      if (storageClassName === 'one') expect(back?.name).to.equal(name);
      expect(await commands()).to.deep.equal([]);
    }
  });

  it('an imported volume grows', async () => {
    await daemon.ok('POST', `${base}/volumes/data-one:resize`, { size: '12Gi' });
    await eventually('its growth', async () => {
      return (await volume('data-one')).sizeBytes === String(12 * 1024 ** 3);
    });
  });

  it('volumes that Kedge did not create are listed only with --all, with a command that works', async () => {
    const id = await byHand('My.Data'.toLowerCase().replace('.', '-'));
    expect(await commands()).to.deep.equal([]);
    expect(await commands('--class', 'far', '--all')).to.deep.equal([]);
    const [command = ''] = await commands('--class', 'one', '--all');
    expect(command).to.equal(`kedge volume import my-data --class one --handle ${id}`);
    const done = await run(command);
    expect(done.code, done.stderr).to.equal(0);
    expect(done.stdout).to.contain('volumes/my-data imported: 2Gi');
    expect(await volume('my-data')).to.deep.include({
      status: 'Available',
      importedAs: 'my-data',
      topology: { 'svc.io/region': 'fra1' },
      formatted: true,
    });
  });

  it('a second import of a volume is refused, also of several at the same time', async () => {
    const { handle } = await volume('my-data');
    const again = await imported('again', { handle });
    expect(again.status).to.equal(412);
    expect(again.body).to.include({ reason: 'VolumeManaged' });
    expect(String(again.body.message)).to.contain('default/my-data');
    const id = await byHand('for-two');
    const both = await Promise.all(
      ['a', 'b', 'c'].map((name) => imported(`race-${name}`, { handle: id })),
    );
    expect(both.map(({ status }) => status).sort()).to.deep.equal([200, 412, 412]);
  });

  it('names are unique only in their region: two volumes of one name can be imported', async () => {
    const handles = [await byHand('twin'), await byHand('twin', '', 'nyc3')];
    for (const [n, storageClassName] of ['one', 'far'].entries()) {
      const { status, body } = await imported(`twin-${n}`, {
        handle: handles[n],
        storageClassName,
      });
      expect(status, JSON.stringify(body)).to.equal(200);
    }
  });

  it('a volume of another cluster is imported only with --take-over', async () => {
    const id = await byHand(
      `kedge-${theirs}`,
      `kedge cluster=another volume=${theirs} name=default/ours-now`,
    );
    const refused = await imported('ours', { handle: id });
    expect(refused.body).to.include({ reason: 'ForeignVolume' });
    expect(String(refused.body.message)).to.contain('another').and.contain('--take-over');
    expect(await commands()).to.deep.equal([]);
    const [command = ''] = (await commands('--all')).filter((line) => line.includes(id));
    expect(command).to.equal(`kedge volume import ours-now --class one --handle ${id} --take-over`);
    expect((await run(command)).code).to.equal(0);
    expect((await volume('ours-now')).status).to.equal('Available');
  });

  it('errors name the cause: an unknown handle, another region, a size, a class, a driver, missing fields', async () => {
    const absent = await imported('x', { handle: theirs });
    expect(absent.status).to.equal(404);
    const handle = await byHand('elsewhere');
    const far = await imported('x', { handle, storageClassName: 'far' });
    expect(far.status).to.equal(400);
    expect(String(far.body.message)).to.contain('which is fra1');
    const sized = await imported('x', { handle, size: '5Gi' });
    expect(String(sized.body.message)).to.contain('which is 2Gi');
    expect((await imported('x', { handle, storageClassName: 'none' })).status).to.equal(404);
    const host = await imported('x', { handle, storageClassName: 'local-host' });
    expect(String(host.body.message)).to.contain('needs no import');
    expect(String((await imported('', {})).body.message)).to.contain('handle');
    const dry = await imported('x', { handle, dryRun: true });
    expect(dry.status, JSON.stringify(dry.body)).to.equal(200);
    expect((await daemon.rest('GET', `${base}/volumes/x`)).status).to.equal(404);
  });

  it('a command names a class of the region of the volume; if there is none, a warning reports it', async () => {
    const apiToken = 'secret:cloud.default.svc/token';
    const parameters = { location: 'nbg1', apiToken };
    const elsewhere = { name: 'a-first', driver: 'cloud2-volume', parameters };
    await daemon.ok('POST', '/v1/storageclasses', elsewhere);
    const made = async (name: string, location: string): Promise<string> =>
      String((await asPerson(cloud2, '/v1/volumes', { name, location, size: 10 })).id);
    const here = await made('of-two', 'fsn1');
    const nowhere = await made('of-none', 'hel1');
    const [command = '', ...others] = (await commands('--all')).filter((line) =>
      line.includes(' of-'),
    );
    expect([command, ...others]).to.deep.equal([
      `kedge volume import of-two --class two --handle ${here}`,
    ]);
    expect((await run(command)).code).to.equal(0);
    const { stdout, stderr } = await daemon.cli('admin', 'orphans', '--all');
    expect(stdout).to.contain('of-none');
    expect(stderr).to.contain(`volume ${nowhere} is in hel1, which no class names`);
    const first = await daemon.cli('admin', 'orphans', '--all', '--class', 'a-first');
    expect(first.stdout).to.not.contain('of-none');
  });

  it('a volume that is deleted while it is listed hides no other', async () => {
    const ids = [await byHand('deleted-meanwhile'), await byHand('still-there')];
    cloud1.faults.add({
      on: `GET /v2/volumes/${ids[0]}/snapshots`,
      fault: { type: 'answer', status: 404, body: '{"id":"not_found","message":"not found"}' },
    });
    const found = (await commands('--class', 'one', '--all')).join('\n');
    expect(found).to.contain(ids[1]).and.not.contain(ids[0]);
  });

  it('reports which classes could not be searched, and why', async () => {
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'broken',
      driver: 'cloud2-volume',
      parameters: { location: 'fsn1', apiToken: 'secret:absent.default.svc/token' },
    });
    const { code, stderr } = await daemon.cli('admin', 'orphans');
    expect(code).to.equal(0);
    expect(stderr).to.contain('class "broken" was not searched').and.contain('default/absent');
    expect(stderr, 'data of the user, which no object owns').to.not.contain('local-host');
    const asked = await daemon.cli('admin', 'orphans', '--class', 'local-host');
    expect(asked.stderr).to.contain('class "local-host" was not searched');
    expect(stderr).to.contain('snapshots of deleted volumes').and.contain('scope snapshot:read');
  });

  it('snapshots without a mark are counted, and listed with --all, if the token permits', async () => {
    const asked = async (...args: readonly string[]) => {
      const { stdout, stderr } = await daemon.cli('admin', 'orphans', ...args);
      return { stdout, stderr };
    };
    const id = await byHand('source');
    await asPerson(cloud1, `/v2/volumes/${id}/snapshots`, { name: `kedge-${theirs}` });
    await asPerson(cloud1, `/v2/volumes/${id}/snapshots`, { name: 'backup' });
    await fetch(`${cloud1.endpoint}/v2/volumes/${id}`, {
      method: 'DELETE',
      headers: { authorization: 'Bearer person' },
    });
    expect((await asked()).stderr).to.not.contain('may be of this cluster');
    const parameters = { region: 'fra1', apiToken: 'person' };
    const whole = { name: 'whole', driver: 'cloud1-volume', parameters };
    await daemon.ok('POST', '/v1/storageclasses', whole);
    const { stdout, stderr } = await asked();
    expect(stdout).to.not.contain(`kedge-${theirs}`);
    expect(stderr).to.contain('driver cloud1-volume: a snapshot may be of this cluster');
    const all = await asked('--all', '--class', 'whole');
    expect(all.stdout).to.contain(`kedge-${theirs}`).and.contain('backup');
    expect(all.stderr).to.not.contain('may be of this cluster');
    await daemon.ok('PUT', '/v1/storageclasses/whole', {
      ...(await daemon.ok('GET', '/v1/storageclasses/whole')),
      parameters: { ...parameters, region: 'nyc3' },
    });
    expect((await asked('--all', '--class', 'whole')).stdout).to.not.contain(`kedge-${theirs}`);
    const everywhere = await asked('--all');
    expect(everywhere.stdout).to.contain(`kedge-${theirs}`);
    expect(everywhere.stderr, 'a snapshot is no volume to import').to.not.contain('is in fra1');
    await daemon.ok('DELETE', '/v1/storageclasses/whole');
  });

  it('needs separate rights, which policy readwrite lacks, and is audited', async () => {
    await daemon.ok('POST', '/v1/admin/users', { name: 'clerk', policies: ['readwrite'] });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'clerk' });
    const as = (method: string, path: string, body?: object): Promise<Answer> =>
      daemon.rest(method, path, body, String(token));
    const listed = await as('GET', '/v1/admin/orphans');
    expect([listed.status, String(listed.body.message)]).to.satisfy(
      ([status, text]: [number, string]) => status === 403 && text.includes('orphans'),
    );
    const body = { name: 'x', storageClassName: 'one', handle: theirs };
    expect((await as('POST', `${base}/volumes:import`, body)).status).to.equal(403);
    const lines = await eventually('the record of the refusal', async () => {
      const audit = await readFile(join(daemon.data, 'audit.jsonl'), 'utf8');
      const found = audit.split('\n').filter((line) => line.includes('VolumeService.Import'));
      return found.some((line) => line.includes('PermissionDenied')) ? found : undefined;
    });
    expect(lines.some((line) => line.includes('"OK"') && line.includes('my-data'))).to.equal(true);
  });

  it('never lists regions or sizes of cloud1, makes no PUT or PATCH there, and has no token in its log', async () => {
    const ours = cloud1.requests.filter(({ token }) => token !== 'person');
    expect(ours.filter(({ path }) => /regions|sizes/.test(path))).to.deep.equal([]);
    expect(ours.filter(({ method }) => method === 'PUT' || method === 'PATCH')).to.deep.equal([]);
    // Only the list of all snapshots needs another scope; without it a warning says what is missing.
    const refused = ours.filter(({ status }) => status === 403).map(({ path }) => path);
    expect([...new Set(refused)]).to.deep.equal(['/v2/snapshots']);
    expect(daemon.log).not.to.contain(secret);
  });
});
