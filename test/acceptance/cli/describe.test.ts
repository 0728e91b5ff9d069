import { expect } from 'chai';
import { eventually } from 'kedge/testing';
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

describe('kedge describe of workloads', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  it('shows the image and the resources of a service and of its instances, and the ports of the service', async () => {
    await daemon.ok('POST', '/v1/namespaces/default/services', {
      ...{ name: 'web', image: 'web:1', nodeSelector: { place: 'nowhere' } },
      ports: [
        { name: 'http', port: 80, hostPort: 18_080 },
        { name: 'dns', port: 53, protocol: 'UDP' },
      ],
      resources: {
        ...{ cpu: { request: '250m', limit: '1' }, memory: { limit: '64Mi' }, pids: 50 },
        sharedMemory: '16Mi',
      },
    });
    await eventually(
      'the instance',
      async () =>
        (await daemon.rest('GET', '/v1/namespaces/default/instances/web-0')).status === 200,
    );
    const rows = [
      /^Image: +web:1$/m,
      /^CPU: +request 250m, limit 1$/m,
      /^Memory: +limit 64Mi$/m,
      /^Processes: +limit 50$/m,
      /^Shared memory: +16Mi$/m,
    ];
    const ofService = (await daemon.cli('describe', 'service/web')).stdout;
    for (const row of [
      ...rows,
      /^Port http: +80\/TCP, 18080 on the node$/m,
      /^Port dns: +53\/UDP$/m,
    ])
      expect(ofService).to.match(row);
    const ofInstance = (await daemon.cli('describe', 'instance/web-0')).stdout;
    for (const row of rows) expect(ofInstance).to.match(row);
  });
});
