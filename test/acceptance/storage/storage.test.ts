import { execFileSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { requireDevices } from '../../drivers/devices.js';
import { finish, TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';

describe('storage through the API of a running daemon', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  beforeEach(async () => {
    daemon = await TestDaemon.start();
  });
  afterEach(() => daemon.dispose());

  const volume = (name: string, more: object = {}) =>
    daemon.ok('POST', `${base}/volumes`, {
      name,
      size: '1Mi',
      accessMode: 'ReadWriteOnce',
      storageClassName: 'local',
      ...more,
    });
  const until = (path: string, status: string) =>
    eventually(`${path} ${status}`, async () => {
      const { body } = await daemon.rest('GET', `${base}/${path}`);
      return body.status === status;
    });
  const gone = (path: string) =>
    eventually(
      `${path} gone`,
      async () => (await daemon.rest('GET', `${base}/${path}`)).status === 404,
    );
  const handleOf = async (path: string): Promise<string> =>
    String((await daemon.ok('GET', `${base}/${path}`)).handle);
  const left = async (): Promise<string[]> =>
    (await readdir(join(daemon.data, 'volumes'), { recursive: true }).catch(() => [])).filter(
      (name) => name !== 'snapshots' && !name.startsWith('.kedge'),
    );

  it('a snapshot outlives its source and its class, and is restored, by the command line', async () => {
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'fast',
      driver: 'local',
      reclaimPolicy: 'delete',
    });
    await volume('v', { storageClassName: 'fast' });
    await until('volumes/v', 'Available');
    await writeFile(join(await handleOf('volumes/v'), 'x'), 'kept');
    await daemon.cli('snapshot', 'create', 's', '--volume', 'v');
    await until('snapshots/s', 'Ready');
    await writeFile(join(await handleOf('volumes/v'), 'x'), 'changed');
    await daemon.ok('DELETE', `${base}/volumes/v`);
    await gone('volumes/v');
    expect(await left()).to.have.length(2);
    await daemon.ok('DELETE', '/v1/storageclasses/fast');
    const restored = await daemon.cli(
      'snapshot',
      'restore',
      's',
      '--to',
      'r',
      '--storage-class',
      'local',
    );
    expect(restored.stdout).to.contain('volumes/r created from snapshots/s');
    await until('volumes/r', 'Available');
    expect(await readFile(join(await handleOf('volumes/r'), 'x'), 'utf8')).to.equal('kept');
    await daemon.ok('DELETE', `${base}/snapshots/s`);
    await gone('snapshots/s');
    const described = await daemon.cli('describe', 'volume', 'r');
    expect(described.stdout).to.match(/Last call:\s+restore at/);
    await daemon.ok('PUT', `${base}/volumes/r`, {
      ...(await daemon.ok('GET', `${base}/volumes/r`)),
      metadata: {},
      reclaimPolicy: 'delete',
    });
    await daemon.ok('DELETE', `${base}/volumes/r`);
    await gone('volumes/r');
    expect(await left(), 'nothing is without an owner').to.deep.equal([]);
  });

  it('the example of a snapshot is cast, and its copy restored, as its comment says', async () => {
    const cast = await daemon.cli('cast', 'docs/examples/snapshot.yaml');
    expect(cast.stdout, cast.stderr).to.contain('Snapshot default/library-first created');
    expect(cast.stdout).to.contain('Snapshot default/library-first Ready');
    await daemon.cli('snapshot', 'restore', 'library-first', '--to', 'library-again');
    await until('volumes/library-again', 'Available');
    expect((await daemon.ok('GET', `${base}/volumes/library-again`)).size).to.equal('1Gi');
    // A reader that closes its pipe ends the command only.
    const piped = `${process.execPath} cmd/bin/kedge.mjs volume explain library-again | head -1`;
    const head = await finish('sh', ['-c', piped], daemon.cliEnvironment);
    expect([head.stdout, head.stderr]).to.deep.equal([
      'Volume default/library-again is Available\n',
      '',
    ]);
  });

  it('rules of snapshots: a missing source is 404, rule 5 and a size too small are 400', async () => {
    const missing = await daemon.rest('POST', `${base}/snapshots`, {
      name: 's',
      source: { volume: 'no' },
    });
    expect(missing.status).to.equal(404);
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'cloud2',
      driver: 'cloud2-volume',
      parameters: { location: 'fsn1' },
    });
    await volume('c', { storageClassName: 'cloud2' });
    const rule5 = await daemon.rest('POST', `${base}/snapshots`, {
      name: 's',
      source: { volume: 'c' },
    });
    expect(rule5.status).to.equal(400);
    expect(JSON.stringify(rule5.body)).to.contain('does not support snapshots');
    await volume('v', { size: '2Mi' });
    await until('volumes/v', 'Available');
    await daemon.ok('POST', `${base}/snapshots`, { name: 's', source: { volume: 'v' } });
    await until('snapshots/s', 'Ready');
    const small = await daemon.rest('POST', `${base}/snapshots/s:restore`, {
      volume: { name: 'r', size: '1Mi' },
    });
    expect(small.status).to.equal(400);
    expect(JSON.stringify(small.body)).to.contain('is less than snapshot');
    const fixed = await daemon.rest('PUT', `${base}/snapshots/s`, {
      name: 's',
      source: { volume: 'c' },
    });
    expect(fixed.status).to.equal(400);
  });

  it('setDefault moves the flag; a topology that no node has is reported until the class no longer requires it', async () => {
    for (const name of ['a', 'b'])
      await daemon.ok('POST', '/v1/storageclasses', { name, driver: 'local' });
    const defaults = async (): Promise<string[]> =>
      (await daemon.list('/v1/storageclasses')).filter((c) => c.default).map((c) => String(c.name));
    for (const name of ['a', 'b', 'b']) {
      await daemon.ok('POST', `/v1/storageclasses/${name}:setDefault`, {});
      expect(await defaults()).to.deep.equal([name]);
    }
    const selector = { matchExpressions: [{ key: 'svc.io/zone', operator: 'In', values: ['z'] }] };
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'zoned',
      driver: 'local',
      allowedTopologies: [selector],
    });
    await volume('v', { storageClassName: 'zoned' });
    await eventually('the condition', async () => {
      const { body } = await daemon.rest('GET', `${base}/volumes/v`);
      return body.status === 'Pending' && body.reason === 'TopologyUnsatisfied';
    });
    const zoned = await daemon.ok('GET', '/v1/storageclasses/zoned');
    selector.matchExpressions[0]!.values = [];
    const wrong = await daemon.rest('PUT', '/v1/storageclasses/zoned', {
      ...zoned,
      allowedTopologies: [selector],
    });
    expect(JSON.stringify(wrong.body)).to.contain('In needs values');
    await daemon.ok('PUT', '/v1/storageclasses/zoned', { ...zoned, allowedTopologies: [] });
    await until('volumes/v', 'Available');
  });

  it('each ordinal keeps its volume over scaling; retain leaves it Released, reuse gives it to the next', async () => {
    const template = { size: '1Mi', accessMode: 'ReadWriteOnce', storageClassName: 'local' };
    const mount = { name: 'data', mountPath: '/data', claimTemplate: template };
    await daemon.ok('POST', `${base}/services`, {
      name: 'db',
      image: 'db:1',
      scale: 2,
      volumes: [mount],
    });
    const names = async (): Promise<string[]> =>
      (await daemon.list(`${base}/volumes`)).map((v) => `${String(v.name)} ${String(v.status)}`);
    const both = ['data-db-0 Available', 'data-db-1 Available'];
    await eventually('both', async () => (await names()).join() === both.join());
    const handle = await handleOf('volumes/data-db-1');
    await daemon.ok('POST', `${base}/services/db:scale`, { scale: 1 });
    await gone('instances/db-1');
    expect(await names()).to.deep.equal(both);
    const kept = await daemon.cli('describe', 'volume', 'data-db-1');
    expect(kept.stdout).to.contain('scale the service to 2 or more');
    expect((await daemon.cli('describe', 'volume', 'data-db-0')).stdout).to.not.contain('or more');
    await daemon.ok('POST', `${base}/services/db:scale`, { scale: 2 });
    await until('instances/db-1', 'Pending');
    expect(await handleOf('volumes/data-db-1')).to.equal(handle);
    const service = await daemon.ok('GET', `${base}/services/db`);
    for (const [change, message] of [
      [{ storageClassName: 'local-host' }, 'its class is'],
      [{ size: '2Mi' }, 'kedge volume resize data-db-0 2Mi -n default'],
    ] as const) {
      const changed = {
        ...mount,
        claimTemplate: {
          ...template,
          ...change,
          parameters: change.size ? {} : { hostPath: join(daemon.home, 'host') },
        },
      };
      const answer = await daemon.rest('PUT', `${base}/services/db`, {
        ...service,
        scale: 1,
        volumes: [changed],
      });
      expect(answer.status, JSON.stringify(answer.body)).to.equal(412);
      expect(JSON.stringify(answer.body), 'V26').to.contain(message);
    }
    const early = await daemon.rest('POST', `${base}/volumes/data-db-1:reuse`, {});
    expect(early.status).to.equal(412);
    await daemon.ok('DELETE', `${base}/services/db`);
    await until('volumes/data-db-1', 'Released');
    const reused = await daemon.cli('volume', 'reuse', 'data-db-1');
    expect(reused.stdout).to.contain('available again');
    const now = await daemon.ok('GET', `${base}/volumes/data-db-1`);
    expect(now).to.include({ status: 'Available', ownerService: '', handle });
    expect((await daemon.ok('POST', `${base}/volumes/data-db-1:detach`, {})).status).to.equal(
      'Available',
    );
  });

  it('a volume of a deleted instance is released by its node', async () => {
    await volume('v');
    await until('volumes/v', 'Available');
    const [node] = await daemon.list('/v1/nodes');
    await daemon.ok('PUT', `${base}/volumes/v/status`, {
      name: 'v',
      status: 'Bound',
      boundClaim: 'default/ghost-0',
      boundNode: node?.name,
      attachments: [{ claim: 'default/ghost-0', node: node?.name, state: 'Attached' }],
    });
    await until('volumes/v', 'Available');
    expect((await daemon.ok('GET', `${base}/volumes/v`)).attachments).to.deep.equal([]);
    expect(daemon.log).to.contain(
      'volumes are still held for an instance that is not on this node',
    );
  });

  it('retry-provision refuses a provisioned volume', async () => {
    await volume('v');
    await until('volumes/v', 'Available');
    const early = await daemon.rest('POST', `${base}/volumes/v:retryProvision`, {});
    expect([early.status, early.body.reason]).to.deep.equal([412, 'NotFailed']);
    let refused = early;
    // The controller probes the volume, and it may be Available again before the request.
    await eventually('a request while the volume is Failed', async () => {
      await daemon.ok('PUT', `${base}/volumes/v/status`, { name: 'v', status: 'Failed' });
      refused = await daemon.rest('POST', `${base}/volumes/v:retryProvision`, {});
      return refused.body.reason !== 'NotFailed';
    });
    expect([refused.status, refused.body.reason]).to.deep.equal([412, 'Provisioned']);
    expect(refused.body.message).to.contain(String(await handleOf('volumes/v')));
  });

  it('volumes of a force-deleted class are still deleted, with their captured parameters', async () => {
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'gone',
      driver: 'local',
      reclaimPolicy: 'delete',
      parameters: { backing: 'directory' },
    });
    await volume('v', { storageClassName: 'gone' });
    await until('volumes/v', 'Available');
    const refused = await daemon.rest('DELETE', '/v1/storageclasses/gone');
    expect(refused.status).to.equal(412);
    await daemon.ok('DELETE', '/v1/storageclasses/gone?force=true');
    const alive = await daemon.ok('GET', `${base}/volumes/v`);
    expect(alive).to.deep.include({
      status: 'Available',
      driverParameters: { backing: 'directory' },
      effectiveReclaimPolicy: 'delete',
    });
    await daemon.ok('DELETE', `${base}/volumes/v`);
    await gone('volumes/v');
    expect(await left()).to.deep.equal([]);
  });

  it('backing image: a snapshot that is created after a kill -9 is restored to a larger volume', async function () {
    requireDevices(this);
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'image',
      driver: 'local',
      reclaimPolicy: 'delete',
      parameters: { backing: 'image' },
    });
    await volume('v', { storageClassName: 'image', size: '16Mi' });
    await until('volumes/v', 'Available');
    await daemon.crash();
    await daemon.ok('POST', `${base}/snapshots`, { name: 's', source: { volume: 'v' } });
    await until('snapshots/s', 'Ready');
    const { stdout } = await daemon.cli('get', 'snapshots');
    expect(stdout).to.contain('16777216');
    await daemon.ok('POST', `${base}/snapshots/s:restore`, {
      volume: { name: 'r', size: '32Mi' },
    });
    await until('volumes/r', 'Available');
    const type = execFileSync('blkid', [
      '-p',
      '-s',
      'TYPE',
      '-o',
      'value',
      await handleOf('volumes/r'),
    ]);
    expect(String(type).trim()).to.equal('ext4');
    for (const path of ['snapshots/s', 'volumes/v', 'volumes/r']) {
      await daemon.ok('DELETE', `${base}/${path}`);
      await gone(path);
    }
    expect(await left()).to.deep.equal([]);
  });

  it('bad input of every kind is 400 with the field, and changes nothing', async () => {
    const long = 'x'.repeat(10 * 1024 * 1024);
    const deep = JSON.parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`) as object;
    const bad: readonly (readonly [string, object])[] = [
      ['path traversal in a name', { name: '../../etc' }],
      ['a NUL in a name', { name: 'a\0b' }],
      ['a slash in a name', { name: 'a/b' }],
      ['64 characters', { name: 'a'.repeat(64) }],
      ['size 2^63', { size: '9223372036854775808' }],
      ['a size without a limit', { size: `${'9'.repeat(400)}Ei` }],
      ['a negative size', { size: '-1Gi' }],
      ['zero', { size: '0' }],
      ['an exponent beyond the maximum', { size: '1e999' }],
      ['no size at all', { size: '' }],
      ['path traversal in a parameter', { parameters: { backing: '../../../etc/passwd' } }],
      ['a parameter the driver does not know', { parameters: { '../x': 'y' } }],
      [
        'a host path with ..',
        { storageClassName: 'local-host', parameters: { hostPath: '/var/tmp/../../etc' } },
      ],
      [
        'a host path with NUL',
        { storageClassName: 'local-host', parameters: { hostPath: '/var/tmp/\0' } },
      ],
      ['deep JSON', { parameters: deep }],
      ['a snapshot name that leads out', { source: { snapshot: '../s' } }],
    ];
    for (const [what, change] of bad) {
      const body = {
        name: 'v',
        size: '1Mi',
        accessMode: 'ReadWriteOnce',
        storageClassName: 'local',
        ...change,
      };
      const answer = await daemon.rest('POST', `${base}/volumes`, body);
      expect(answer.status, `${what}: ${JSON.stringify(answer.body).slice(0, 300)}`).to.equal(400);
      expect(JSON.stringify(answer.body), what).to.match(/"field":"[^"]+"|nested/);
    }
    const huge = await daemon.rest('POST', `${base}/volumes`, { name: 'v', size: long });
    expect(huge.status).to.equal(400);
    expect(JSON.stringify(huge.body)).to.contain('4194304 bytes');
    expect(await daemon.list(`${base}/volumes`)).to.deep.equal([]);
    expect(await left()).to.deep.equal([]);
  });

  it('sensitive literals are masked everywhere, and nowhere on disk or in the log in plaintext', async () => {
    const secret = 'dop_v1_plaintext_of_a_token';
    const parameters = { region: 'fra1', apiToken: secret };
    const answers: unknown[] = [];
    answers.push(
      await daemon.ok('POST', '/v1/storageclasses', {
        name: 'cloud',
        driver: 'cloud1-volume',
        parameters,
      }),
    );
    answers.push(
      await volume('v', { storageClassName: 'cloud', parameters: { apiToken: secret } }),
    );
    const called = await eventually('a call of the driver', async () => {
      const { body } = await daemon.rest('GET', `${base}/volumes/v`);
      return JSON.stringify(body).includes('ECONNREFUSED') ? body : undefined;
    });
    answers.push(called);
    for (const path of [
      `${base}/volumes/v`,
      `${base}/volumes`,
      '/v1/storageclasses',
      `${base}/volumes/v:describe`,
    ])
      answers.push(await daemon.ok('GET', path));
    expect(JSON.stringify(answers)).to.not.contain(secret);
    expect(daemon.log).to.not.contain(secret);
    await daemon.end('SIGTERM');
    const files = await readdir(daemon.data, { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile())) {
      const bytes = await readFile(join(file.parentPath, file.name));
      expect(bytes.includes(secret), file.name).to.equal(false);
    }
  });
});
