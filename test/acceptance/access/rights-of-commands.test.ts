import { join } from 'node:path';
import { expect } from 'chai';
import { finish, type Finished, root, TestDaemon, workload } from '../daemon.js';

describe('the commands of a caller without the right to list', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let token: string;
  before(async () => {
    daemon = await TestDaemon.start();
    const rules = [
      { resources: ['volumes'], verbs: ['get', 'delete'], namespaces: ['*'] },
      { resources: ['exec'], verbs: ['exec'], namespaces: ['*'] },
    ];
    await daemon.ok('POST', '/v1/admin/policies', { name: 'remover', rules });
    const account = { kind: 'serviceAccount', policies: ['remover'] };
    await daemon.ok('POST', '/v1/admin/users', { name: 'bot', ...account });
    token = String((await daemon.ok('POST', '/v1/auth/tokens', { subject: 'bot' })).token);
  });
  after(() => daemon?.dispose());

  const cli = (...words: readonly string[]): Promise<Finished> =>
    finish(process.execPath, [join(root, 'cmd/bin/kedge.mjs'), ...words], {
      ...daemon.cliEnvironment,
      KEDGE_TOKEN: token,
    });

  it('wait for a deletion', async () => {
    const { volume } = workload(daemon, 'web', 'sleep 600');
    await daemon.ok('POST', '/v1/namespaces/default/volumes', { ...volume, name: 'data' });
    const removed = await cli('delete', 'volume/data');
    expect([removed.code, removed.stdout]).to.deep.equal([0, 'volumes/data deleted\n']);
    expect((await daemon.rest('GET', '/v1/namespaces/default/volumes/data')).status).to.equal(404);
  });

  it('say that an instance for a command does not exist', async () => {
    const executed = await cli('exec', 'nothing', '--', 'true');
    expect(executed.stderr).to.contain('"default/nothing" does not exist');
  });
});
