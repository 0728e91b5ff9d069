import { expect } from 'chai';
import { TestDaemon } from '../daemon.js';

describe('kedge describe of kinds without a description of the server', function () {
  this.timeout(180_000);
  const hidden = 'the-hidden-value-4711';
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
    await daemon.ok('POST', '/v1/admin/policies', {
      name: 'look',
      rules: [{ resources: ['volumes'], verbs: ['get', 'list'], namespaces: ['prod'] }],
    });
    await daemon.ok('POST', '/v1/admin/users', { name: 'ada', policies: ['look', 'readonly'] });
    await daemon.ok('POST', '/v1/namespaces/default/secrets', {
      name: 'login',
      data: { password: hidden, user: 'ada' },
    });
  });
  after(() => daemon.dispose());

  const described = async (type: string, name: string): Promise<string> => {
    const { code, stdout, stderr } = await daemon.cli('describe', type, name);
    expect(code, stderr).to.equal(0);
    expect(stdout)
      .to.match(/^Name: {2,}\S+$/m)
      .and.match(/^Created at: +\d{4}-/m);
    // A dump of the message would contain these.
    expect(stdout).to.not.match(/[{}]|resourceVersion|undefined/);
    return stdout;
  };

  it('user shows its policies', async () => {
    const text = await described('user', 'ada');
    expect(text)
      .to.match(/^Kind: +User$/m)
      .and.match(/^Policies: +look, readonly$/m);
  });

  it('policy shows one rule per line', async () => {
    const text = await described('policy', 'look');
    expect(text).to.match(
      /^Rules 1: +(?=.*resources=volumes)(?=.*verbs=get, list)(?=.*namespaces=prod)/m,
    );
  });

  it('secret names its keys and shows none of its values, in no format', async () => {
    const text = await described('secret', 'login');
    expect(text).to.match(/^Data: +(?=.*password=)(?=.*user=)/m);
    for (const format of ['table', 'json', 'yaml']) {
      const { code, stdout, stderr } = await daemon.cli(
        'describe',
        'secret',
        'login',
        '-o',
        format,
      );
      expect(code, stderr).to.equal(0);
      expect(stdout + stderr, format).to.not.contain(hidden);
      const encoded = Buffer.from(hidden).toString('base64');
      expect(stdout + stderr, format).to.not.contain(encoded);
    }
  });

  it('a missing object ends with exit code 4 and its name', async () => {
    for (const type of ['user', 'policy', 'secret']) {
      const { code, stdout, stderr } = await daemon.cli('describe', type, 'nobody');
      expect(code).to.equal(4);
      expect(stdout).to.equal('');
      expect(stderr).to.match(/nobody" does not exist/);
    }
  });
});
