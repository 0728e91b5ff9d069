import { join } from 'node:path';
import { expect } from 'chai';
import { finish, root, TestDaemon, workload } from '../daemon.js';

describe('a misspelt word on the command line', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
    const { volume, service } = workload(daemon, 'web', 'sleep 600');
    await daemon.ok('POST', '/v1/namespaces', { name: 'prod' });
    for (const name of ['default', 'prod'])
      await daemon.ok('POST', `/v1/namespaces/${name}/volumes`, {
        ...volume,
        name: name === 'prod' ? 'ledger' : 'journal',
        parameters: { hostPath: `${daemon.home}/host/${name}`, createIfMissing: 'true' },
      });
    await daemon.ok('POST', '/v1/namespaces/default/services', { ...service, volumes: [] });
  });
  after(() => daemon.dispose());

  for (const [line, code, message] of [
    ['get volums', 6, '"volums" is not a kind; did you mean volumes?'],
    ['describe sevice web', 6, '"sevice" is not a kind; did you mean service?'],
    ['get volumes -o yml', 6, 'did you mean yaml?'],
    ['get volume jornal', 4, 'Did you mean journal?'],
    ['describe volume jornal', 4, 'Did you mean journal?'],
    ['delete volume jornal', 4, 'Did you mean journal?'],
    ['logs wbe', 4, 'Did you mean web?'],
    ['get volume ledger', 4, 'An object of this name exists in another namespace: add -n prod'],
    ['get volume nothing-like-it', 4, 'Volume "default/nothing-like-it" does not exist'],
    ['get volumes -n prdo', 4, 'Did you mean prod?'],
    ['events -n prdo', 4, 'Did you mean prod?'],
    ['health -n prdo', 4, 'Did you mean prod?'],
    ['driver check nothing-like-it', 4, 'Storage classes: '],
    ['cast docs/examples/journl.yaml', 4, 'did you mean docs/examples/journal.yaml?'],
    ['gte volumes', 2, 'Did you mean kedge get?'],
    ['get volumes --outptu json', 2, 'Did you mean --output?'],
  ] as const)
    it(`is reported: kedge ${line}`, async () => {
      const ended = await daemon.cli(...line.split(' '));
      expect(ended.code, ended.stderr).to.equal(code);
      expect(ended.stdout).to.equal('');
      expect(ended.stderr).to.contain(message);
      if (line === 'get volume nothing-like-it')
        expect(ended.stderr).to.not.match(/did you mean|There is/i);
    });

  for (const [key, message] of [
    ['svc.io/zoen', 'no driver reads label svc.io/zoen; did you mean svc.io/zone?\n'],
    [
      'topology.kubernetes.io/region',
      'no driver reads label topology.kubernetes.io/region; did you mean svc.io/region?\n',
    ],
    ['svc.io/zone', ''],
    ['tier', ''],
    ['constructor', ''],
  ] as const)
    it(`${message === '' ? 'is not reported' : 'is reported'} for label ${key} of a node`, async () => {
      const [node] = (await daemon.ok('GET', '/v1/nodes')).items as { name: string }[];
      const ended = await daemon.cli('label', 'node', node?.name ?? '', `${key}=a`);
      expect([ended.code, ended.stderr]).to.deep.equal([0, message]);
      const volume = await daemon.cli('label', 'volume', 'journal', `${key}=a`);
      expect([volume.code, volume.stderr]).to.deep.equal([0, '']);
    });

  it('is reported in the labels of a patched or edited node too', async () => {
    const [node] = (await daemon.ok('GET', '/v1/nodes')).items as { name: string }[];
    const name = node?.name ?? '';
    const messageFor = (key: string): string =>
      `no driver reads label ${key}; did you mean svc.io/zone?\n`;
    const labels = { 'svc.io/zon': 'a', 'svc.io/region': 'b', tier: null };
    const patched = await daemon.cli('patch', 'node', name, '--patch', JSON.stringify({ labels }));
    expect([patched.code, patched.stderr]).to.deep.equal([0, messageFor('svc.io/zon')]);
    const editor = `sed -i 's|^labels:|labels:\\n  zone: a|'`;
    const environment = { ...daemon.cliEnvironment, KEDGE_EDITOR: editor };
    const edit = [join(root, 'cmd/bin/kedge.mjs'), 'edit', 'node', name];
    const edited = await finish(process.execPath, edit, environment);
    // The label of the patch is unchanged, and is not reported again.
    expect([edited.code, edited.stderr]).to.deep.equal([0, messageFor('zone')]);
    const volume = await daemon.cli(
      'patch',
      'volume',
      'journal',
      '--patch',
      '{"labels":{"zone":"a"}}',
    );
    expect([volume.code, volume.stderr]).to.deep.equal([0, '']);
  });

  it('has no suggestion for a caller without the right to list', async () => {
    const rules = [{ resources: ['volumes'], verbs: ['get'], namespaces: ['default'] }];
    await daemon.ok('POST', '/v1/admin/policies', { name: 'get-only', rules });
    await daemon.ok('POST', '/v1/admin/users', { name: 'eve', policies: ['get-only'] });
    const made = await daemon.cli('token', 'create', 'eve');
    expect(made.code, made.stderr).to.equal(0);
    const own = daemon.token;
    daemon.token = /\S{20,}/.exec(made.stdout)?.[0] ?? '';
    try {
      const ended = await daemon.cli('get', 'volume', 'jornal');
      expect(ended.code, ended.stderr).to.equal(4);
      expect(ended.stderr).to.equal('error: Volume "default/jornal" does not exist\n');
    } finally {
      daemon.token = own;
    }
  });
});
