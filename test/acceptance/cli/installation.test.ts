import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { finish, root, TestDaemon, workload } from '../daemon.js';
import { runner } from './run.js';

const kedge = join(root, 'cmd/bin/kedge.mjs');
const base = '/v1/namespaces/default';

describe('the installation on the command line', function () {
  this.timeout(240_000);
  let daemon: TestDaemon;
  const run = runner(() => daemon);
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  it('status shows the daemon, nodes, counts, and each object that is not ready with its cause', async () => {
    const { service } = workload(daemon, 'web', 'sleep 600');
    await daemon.ok('POST', `${base}/services`, { ...service, volumes: [] });
    await run('wait service/web --for status=Running');
    const well = await run('status');
    expect(well).to.contain(`kedged at ${daemon.grpcAddress} answers; you are root.`);
    expect(well).to.match(/^\S+ +Ready +\d+\.\d+\.\d+ +\S+ +\d+s ago$/m);
    expect(well)
      .to.match(/^services +1 +1 Running$/m)
      .and.contain('All objects are ready.');
    await daemon.ok('POST', `${base}/services`, {
      ...service,
      name: 'broken',
      volumes: [],
      command: ['nosuch-program'],
    });
    await run('wait service/broken --for condition=Ready=False');
    const ill = await run('status');
    expect(ill).to.contain('Not ready:').and.not.contain('Everything');
    expect(ill).to.match(/^Service default\/broken .*/m);
    const json = JSON.parse(await run('status -o json')) as {
      readonly notReady: readonly { readonly object: string }[];
    };
    expect(json.notReady.map(({ object }) => object)).to.include('Service default/broken');
  });

  it('status shows the kinds that the caller may list, and names the others', async () => {
    const rules = [{ resources: ['volumes'], verbs: ['get', 'list'], namespaces: ['*'] }];
    await daemon.ok('POST', '/v1/admin/policies', { name: 'volumes', rules });
    await daemon.ok('POST', '/v1/admin/users', { name: 'eve', policies: ['volumes'] });
    const made = await daemon.cli('token', 'create', 'eve');
    const own = daemon.token;
    daemon.token = made.stdout.trim();
    try {
      expect(await run('status'))
        .to.match(/All visible objects/)
        .and.match(/You are not permitted to list .*secrets/);
      expect(await run('get all', 3)).to.contain(
        'Without secrets: you are not permitted to list them.',
      );
      const rights = await run('auth can-i --list');
      expect(rights).to.equal('RESOURCE   VERBS\nvolumes    get list\n');
    } finally {
      daemon.token = own;
    }
  });

  it('can-i refuses unknown verbs and resources instead of answering "no"', async () => {
    expect(await run('auth can-i delete volumes')).to.equal('yes\n');
    expect(await run('auth can-i serve noderequests')).to.equal('yes\n');
    for (const resource of ['leases', 'reconcilerecords', 'effectrecords'])
      expect(await run(`auth can-i update ${resource}`)).to.equal('yes\n');
    expect(await run('auth can-i delte volumes', 6)).to.contain('did you mean delete?');
    expect(await run('auth can-i delete volums', 6)).to.contain('did you mean volumes?');
    expect(await run('auth can-i delete', 2)).to.contain('--list');
    expect(await run('auth can-i --list')).to.match(/^secrets .*reveal/m);
  });

  it('token list shows tokens without their secrets', async () => {
    const made = await daemon.cli('token', 'create', 'root', '--description', 'for the list');
    const list = await run('token list');
    expect(list).to.contain('for the list').and.not.contain(made.stdout.trim());
    expect(await run('token list -o name')).to.match(/^tokens\/\w+$/m);
  });

  it('context lists, selects and deletes contexts, and shows no token', async () => {
    const { KEDGE_SERVER: _server, KEDGE_TOKEN: _token, ...rest } = daemon.cliEnvironment;
    const environment = { ...process.env, ...rest, TOKEN: daemon.token };
    const sh = async (line: string, code = 0): Promise<string> => {
      const done = await finish(
        'sh',
        ['-c', line.replaceAll('kedge ', `"${process.execPath}" "${kedge}" `)],
        environment,
      );
      expect(done.code, `${line}\n${done.stdout}${done.stderr}`).to.equal(code);
      return done.stdout + done.stderr;
    };
    expect(await sh('kedge context list')).to.contain('No contexts are stored');
    for (const name of ['first', 'second'])
      await sh(`echo "$TOKEN" | kedge login --server ${daemon.grpcAddress} --name ${name}`);
    const list = await sh('kedge context list');
    expect(list)
      .to.match(/^\* +second /m)
      .and.match(/^ +first /m)
      .and.not.contain(daemon.token);
    expect(await sh('kedge context use first')).to.contain('switched to context first');
    expect(await sh('kedge context list')).to.match(/^\* +first /m);
    expect(await sh('kedge whoami')).to.contain('root');
    expect(await sh('kedge context use frist', 4)).to.contain('did you mean first?');
    expect(await sh('kedge context delete first')).to.contain('until it expires or is revoked');
    expect(await sh('kedge whoami', 3)).to.contain('kedge login');
    await sh('kedge context use second');
    const file = join(daemon.home, 'config/kedge/config.yaml');
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect(await readFile(file, 'utf8')).to.not.contain('first');
  });

  it('login takes the server from --server, else KEDGE_SERVER, else the stored context of its name', async () => {
    const { KEDGE_SERVER: _server, KEDGE_TOKEN: _token, ...rest } = daemon.cliEnvironment;
    const environment = {
      ...{ ...process.env, ...rest, TOKEN: daemon.token },
      XDG_CONFIG_HOME: join(daemon.home, 'config-of-logins'),
    };
    const sh = async (line: string, code = 0): Promise<string> => {
      const command = line.replaceAll('kedge ', `"${process.execPath}" "${kedge}" `);
      const done = await finish('sh', ['-c', command], environment);
      expect(done.code, `${line}\n${done.stdout}${done.stderr}`).to.equal(code);
      return done.stdout + done.stderr;
    };
    const login = 'echo "$TOKEN" | env';
    const here = daemon.grpcAddress;
    expect(await sh(`${login} KEDGE_SERVER=${here} kedge login --name a`)).to.contain(`to ${here}`);
    expect(await sh(`${login} kedge login --name a`)).to.contain(`to ${here}`);
    expect(await sh(`${login} KEDGE_SERVER= kedge login --name a`)).to.contain(`to ${here}`);
    const nowhere = '127.0.0.1:1';
    expect(await sh(`${login} KEDGE_SERVER=${nowhere} kedge login --name a`, 1)).to.contain(
      nowhere,
    );
    expect(
      await sh(`${login} KEDGE_SERVER=${nowhere} kedge login --server ${here} --name b`),
    ).to.contain(`to ${here}`);
    expect(await sh('env KEDGE_SERVER= kedge context list')).not.to.contain('overrides');
    expect(await sh(`env KEDGE_SERVER=${here} kedge context list`)).to.contain(
      'KEDGE_SERVER is set and overrides the context.',
    );
  });

  it('prints its version in both forms', async () => {
    expect(await run('version')).to.equal(await run('--version'));
  });
});
