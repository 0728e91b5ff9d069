import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { finish, root, TestDaemon, workload } from '../daemon.js';
import { runner } from './run.js';

const base = '/v1/namespaces/default';
const size = { size: '16Mi', accessMode: 'ReadWriteOnce' };

describe('objects on the command line', function () {
  this.timeout(240_000);
  let daemon: TestDaemon;
  const run = runner(() => daemon);
  before(async () => {
    daemon = await TestDaemon.start();
    await mkdir(join(daemon.home, 'files'));
    const { service } = workload(daemon, 'web', 'sleep 600');
    await daemon.ok('POST', `${base}/services`, { ...service, volumes: [] });
    for (const name of ['one', 'two'])
      await daemon.ok('POST', `${base}/volumes`, { name, ...size });
    await daemon.ok('POST', `${base}/secrets`, { name: 'login', data: { password: 'tide' } });
    await run('wait volume/one volume/two --for status=Available');
    await run('wait service/web --for status=Running');
  });
  after(() => daemon.dispose());

  const file = async (name: string, text: string): Promise<string> => {
    const path = join(daemon.home, 'files', name);
    await writeFile(path, text);
    return path;
  };

  it('get accepts several types, several names and TYPE/NAME, and reports missing objects', async () => {
    const tables = await run('get all');
    for (const name of ['volumes/one', 'services/web', 'instances/web-0', 'secrets/login'])
      expect(tables).to.contain(name);
    expect(tables).to.not.contain('events/');
    expect(await run('get volume,service -o name')).to.equal(
      'volumes/one\nvolumes/two\nservices/web\n',
    );
    expect(await run('get volume one two -o name')).to.equal('volumes/one\nvolumes/two\n');
    const some = await run('get volume/one volume/absent', 4);
    expect(some).to.match(/^one /m).and.contain('"default/absent" does not exist');
    expect(await run('get volume/one two', 2)).to.contain('not both forms');
    expect(await run('get volume one -l a=b', 2)).to.contain('not both');
    expect(await run('get all -n staging', 4)).to.contain('staging');
  });

  it('get of a name with -A searches all namespaces', async () => {
    await run('create namespace elsewhere');
    await daemon.ok('POST', '/v1/namespaces/elsewhere/volumes', { name: 'one', ...size });
    const both = await run('get volume one -A');
    expect(both)
      .to.match(/^default +one /m)
      .and.match(/^elsewhere +one /m);
    expect(await run('get volume/two service/web -A -o name')).to.equal(
      'volumes/two\nservices/web\n',
    );
    expect(await run('get storageclass local -A -o name')).to.equal('storageclasses/local\n');
    expect(await run('get volume absent -A', 4)).to.contain(
      'Volume "absent" does not exist in any namespace',
    );
    const one = JSON.parse(await run('get volume two -A -o json')) as { readonly name: string };
    expect(one.name).to.equal('two');
    await run('delete volume one -n elsewhere');
  });

  it('cast prints the command and the YAML that create a missing namespace', async () => {
    const path = await file('nowhere.yaml', 'kind: Configmap\nname: a\nnamespace: nowhere\n');
    const output = await run(['cast', path], 4);
    expect(output).to.contain('kedge create namespace nowhere').and.not.contain('ensureNamespace');
  });

  it('get prints several kinds as a list that can be cast again', async () => {
    const list = await run('get volume/one secret/login -o yaml');
    const plan = await run(['cast', '--dry-run', await file('list.yaml', list)]);
    expect(plan).to.contain('= Volume default/one').and.contain('= Secret default/login');
    const json = await run('get volume/one secret/login -o json');
    expect((JSON.parse(json) as { readonly items: unknown[] }).items).to.have.length(2);
  });

  it('get prints selected fields, and refuses unknown ones', async () => {
    const template = '{range .items[*]}{.name}:{.status}{"\\n"}{end}';
    expect(await run(['get', 'volumes', '-o', `jsonpath=${template}`])).to.equal(
      'one:Available\ntwo:Available\n',
    );
    expect(await run('get volume one -o jsonpath={.size}')).to.equal('16Mi\n');
    expect(await run('get volume one -o jsonpath={.siez}', 6)).to.contain('did you mean size?');
    expect(await run('get volume one -o jsonpath={.size', 6)).to.contain('"}" is expected');
  });

  it('describe, restart, health and logs accept TYPE/NAME', async () => {
    const both = await run('describe volume/one service/web');
    expect(both)
      .to.match(/Kind: +Volume/)
      .and.match(/Kind: +Service/);
    expect(await run('logs service/web')).to.equal('web has no output.\n');
    expect(await run('restart service/web')).to.equal('services/web restarts\n');
    expect(await run('health service/web')).to.contain('web');
    expect(await run('health volume/one', 2)).to.contain(
      'is a volume; use the name of a service or instance',
    );
    expect(await run('exec service/web -- true', 2)).to.contain('use the name of an instance');
    expect(await run('volume resize volume/two 32Mi')).to.contain(
      'volumes/two is being resized to 32Mi',
    );
    expect(await run('volume resize service/web 32Mi', 2)).to.contain(
      'is a service; use the name of a volume',
    );
  });

  it('delete accepts several objects, files, and missing objects with --ignore-not-found', async () => {
    const path = await file(
      'both.yaml',
      'kind: Configmap\nname: a\ndata: {}\n---\nkind: Configmap\nname: b\ndata: {}\n',
    );
    await run(['apply', path, '--no-wait']);
    expect(await run(['delete', '-f', path, '--dry-run'])).to.equal(
      'configmaps/b deleted (dry run)\nconfigmaps/a deleted (dry run)\n',
    );
    expect(await run(['delete', '-f', path])).to.equal(
      'configmaps/b deleted\nconfigmaps/a deleted\n',
    );
    expect(await run(['delete', '-f', path], 4)).to.contain('"default/a" does not exist');
    expect(await run('delete configmap a b --ignore-not-found')).to.equal(
      'configmaps/a does not exist\nconfigmaps/b does not exist\n',
    );
    for (const name of ['c', 'd'])
      await daemon.ok('POST', `${base}/configmaps`, { name, data: {} });
    const some = await run('delete configmap/c configmap/absent configmap/d', 4);
    expect(some).to.contain('configmaps/c deleted').and.contain('configmaps/d deleted');
    await run('delete', 2);
    await run('delete volume', 2);
    expect(await run(['delete', 'volume/one', '-f', path], 2)).to.contain('--filename');
  });

  it('create creates namespaces and configmaps without an object file', async () => {
    expect(await run('create namespace staging')).to.equal('namespaces/staging created\n');
    expect(await run('create namespace staging', 5)).to.contain('exists');
    const env = await file('web.env', '# of the web\nLEVEL=debug\n\nURL=http://a/?b=c\n');
    const value = await file('key', 'line\nline\n');
    const args = ['--from-env-file', env, '--from-file', value, '--from-literal', 'x=y'];
    await run(['create', 'configmap', 'made', ...args]);
    const { data } = await daemon.ok('GET', `${base}/configmaps/made`);
    expect(data).to.deep.equal({
      LEVEL: 'debug',
      URL: 'http://a/?b=c',
      key: 'line\nline\n',
      x: 'y',
    });
    expect(await run('create configmap nothing')).to.contain('The object has no values');
    expect(
      await run(['create', 'configmap', 'twice', '--from-literal', 'x=1', ...args], 6),
    ).to.contain('x: is given twice');
    const bytes = join(daemon.home, 'files', 'bytes');
    await writeFile(bytes, Buffer.from([0xff, 0xfe, 0]));
    expect(await run(['create', 'configmap', 'bytes', '--from-file', bytes], 6)).to.contain(
      'is not valid UTF-8',
    );
  });

  it('create reads a secret from a pipe, warns about one on the command line, and prints no value', async () => {
    const line = `printf %s sesame | "$NODE" cmd/bin/kedge.mjs create secret piped --from-file word=-`;
    const environment = { ...daemon.cliEnvironment, NODE: process.execPath };
    const piped = await finish('sh', ['-c', line], environment);
    expect(piped.stdout + piped.stderr).to.equal('secrets/piped created\n');
    expect(await run('secret reveal piped word')).to.equal('sesame\n');
    expect(await run('secret reveal piped constructor', 6)).to.contain(
      '"constructor" is not a key of the secret; use one of word',
    );
    const typed = await run('create secret typed --from-literal word=sesame');
    expect(typed).to.contain('process list').and.not.contain('sesame');
    const wrong = await run('create secret wrong --from-literal sesame', 6);
    expect(wrong).to.contain('must be KEY=VALUE').and.not.contain('sesame');
  });

  it('diff shows each value that differs, masks secrets, and stores nothing', async () => {
    const same = await file(
      'same.yaml',
      'kind: Volume\nname: one\nsize: 16Mi\naccessMode: ReadWriteOnce\n',
    );
    expect(await run(['diff', same])).to.contain('No differences: 1 object matches the files.');
    const path = await file(
      'diff.yaml',
      [
        'kind: Volume\nname: one\nlabels: {a: b}\nsize: 32Mi\naccessMode: ReadWriteOnce\n',
        'kind: Secret\nname: login\ndata: {password: tidal, user: ada}\n',
        'kind: Secret\nname: fresh\ndata: {word: sesame}\n',
      ].join('---\n'),
    );
    const output = await run(['diff', path], 1);
    expect(output).to.contain('~ Volume default/one updated\n');
    expect(output).to.contain('  + labels.a: b\n').and.contain('    size: 16Mi -> 32Mi\n');
    expect(output).to.contain('  + data.user: ********\n');
    expect(output).to.contain('    data.password: ******** -> ******** (another value)\n');
    expect(output).to.contain('+ Secret default/fresh created\n');
    expect(output).to.not.match(/tid|sesame|ada/);
    expect((await daemon.ok('GET', `${base}/volumes/one`))['size']).to.equal('16Mi');
    expect((await daemon.rest('GET', `${base}/secrets/fresh`)).status).to.equal(404);
    const equal = await file('equal.yaml', 'kind: Secret\nname: login\ndata: {password: tide}\n');
    expect(await run(['diff', equal])).to.contain('No differences');
    const bad = await file(
      'bad.yaml',
      'kind: Volume\nname: one\nsize: x\naccessMode: ReadWriteOnce\n',
    );
    expect(await run(['diff', bad], 6)).to.contain(`${bad}:3`);
  });

  it('explain shows fields as the server describes them', async () => {
    const volume = await run('explain volume');
    expect(volume).to.match(/^A unit of durable storage/m);
    expect(volume).to.match(/^accessMode +one of several values +required, immutable/m);
    expect(volume).to.match(/^status +one of several values +status/m);
    expect(volume).to.match(/^reclaimPolicy .*Default: the class's policy/m);
    const mode = await run('explain volumes.accessMode');
    expect(mode).to.match(/^Immutable: +yes/m);
    expect(mode).to.match(/^Values: +ReadWriteOnce, ReadOnlyMany, ReadWriteMany$/m);
    const scale = await run('explain service.scale');
    expect(scale)
      .to.contain('Replicas; default 1')
      .and.match(/^Bounds: +at least 0, at most 1000/m);
    expect(await run('explain service.volumes.claimTemplate.siez', 4)).to.contain(
      'Service.volumes.claimTemplate has no field "siez"; did you mean size?',
    );
    expect(await run('explain service --recursive')).to.match(/^volumes\.claimTemplate\.size /m);
    expect(await run('explain volum', 6)).to.contain('did you mean volume');
    await run('explain volume..size', 2);
  });

  it('events shows those of one object, and later ones', async () => {
    expect(await run('events volume/one'))
      .to.contain('Volume/one')
      .and.not.contain('Volume/two');
    expect(await run('events one', 2)).to.contain('must be TYPE/NAME');
    expect(await run('events volume/absent')).to.contain('No events found');
    const child = spawn(process.execPath, ['cmd/bin/kedge.mjs', 'events', '--watch'], {
      cwd: root,
      env: { ...process.env, ...daemon.cliEnvironment },
    });
    try {
      let output = '';
      child.stdout.on('data', (data) => (output += String(data)));
      await eventually('the present events', () => output.includes('Volume/one'));
      await daemon.ok('POST', `${base}/volumes`, { name: 'three', ...size });
      await eventually('what happens', () => /Provisioned +Volume\/three/.test(output));
      expect(output.match(/LAST SEEN/g)).to.have.length(1);
      const ended = new Promise((resolve) => child.on('close', resolve));
      child.kill('SIGINT');
      expect(await ended).to.equal(0);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
