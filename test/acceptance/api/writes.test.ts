import { readdir, readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Volume } from '@kedge/api';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

describe('writes to a running daemon', () => {
  let daemon: TestDaemon;

  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  const volumes = '/v1/namespaces/default/volumes';
  const good = { name: 'v', size: '1Gi', accessMode: 'ReadWriteOnce', storageClassName: 'local' };
  const refusals: readonly [string, object, string, RegExp][] = [
    ['an invalid size', { size: '10Gx' }, 'size', /10Gx.*quantity/],
    [
      'an access mode the driver lacks (2.2)',
      { accessMode: 'ReadWriteMany' },
      'accessMode',
      /not supported by driver local/,
    ],
    ['an unknown access mode', { accessMode: 'Sometimes' }, 'accessMode', /ReadWriteOnce/],
    ['an unknown field', { sizee: '1Gi' }, 'sizee', /not a field/],
    ['a name that is not a DNS label', { name: 'A_b' }, 'name', /DNS-1123/],
    ['another namespace than the path', { namespace: 'system' }, 'namespace', /differs/],
    [
      'a class that does not exist',
      { storageClassName: 'nope' },
      'storageClassName',
      /nope.*does not exist/,
    ],
    ['a map value that is not a string', { labels: { a: 1 } }, 'labels.a', /quotes/],
    [
      'a malformed secret reference',
      { parameters: { x: 'secret:y' } },
      'parameters.x',
      /secret:<name>/,
    ],
    [
      'rule 6: a host path outside the allow-list',
      { storageClassName: 'local-host', parameters: { hostPath: '/etc' } },
      'parameters.hostPath',
      /hostPathAllowlist/,
    ],
    [
      'rule 8: reclaim policy delete on local-host',
      { storageClassName: 'local-host', reclaimPolicy: 'delete', parameters: {} },
      'reclaimPolicy',
      /never deleted/,
    ],
  ];
  for (const [what, change, field, rule] of refusals)
    it(`${what} is 400 naming field, value and rule, and nothing is stored`, async () => {
      const { status: code, body } = await daemon.rest('POST', volumes, { ...good, ...change });
      expect(code).to.equal(400);
      const details = body.details as {
        fieldViolations?: { field: string; description: string }[];
      }[];
      const violations = details.flatMap((d) => d.fieldViolations ?? []);
      const found = violations.filter((v) => v.field === field).map((v) => v.description);
      expect(found.join('; '), JSON.stringify(violations)).to.match(rule);
      expect(await daemon.list(volumes)).to.deep.equal([]);
    });

  it('all violations are reported in one answer', async () => {
    const { body } = await daemon.rest('POST', volumes, { name: 'A', size: 'x', foo: 1 });
    expect(String(body.message)).to.match(/foo.*/);
    for (const part of ['accessMode', 'name', 'size', 'foo']) expect(body.message).to.contain(part);
  });

  it('status fields set by a client are ignored, defaults and zero values are shown', async () => {
    const forged = { status: 'Bound', handle: '/etc', attempts: 7, metadata: { uid: 'mine' } };
    const made = await daemon.ok('POST', volumes, { ...good, ...forged });
    expect(made).to.include({ status: 'Pending', handle: '', attempts: 0, boundClaim: '' });
    expect((made.metadata as { uid: string }).uid).to.not.equal('mine');
    const settled = await eventually('the volume', async () => {
      const volume = await daemon.ok('GET', `${volumes}/v`);
      return volume.status === 'Available' ? volume : undefined;
    });
    expect(settled.sizeBytes).to.equal('1073741824');
    const elsewhere = await daemon.rest('PUT', `${volumes}/v`, { ...good, ...forged });
    expect(elsewhere.status, 'an object of another uid').to.equal(409);
    const put = await daemon.ok('PUT', `${volumes}/v`, { ...good, ...forged, metadata: {} });
    expect(put).to.include({ status: 'Available', handle: settled.handle });
  });

  it('UpdateStatus writes only valid status fields', async () => {
    const body = { reason: 'Told', size: '9Gi', metadata: {} };
    const updated = await daemon.ok('PUT', `${volumes}/v/status`, body);
    expect(updated).to.include({ reason: 'Told', size: '1Gi' });
    const bad = await daemon.rest('PUT', `${volumes}/v/status`, { status: 'Sleeping' });
    expect(bad.status).to.equal(400);
    expect(bad.body.message).to.contain('Sleeping');
  });

  it('an immutable field can not change; a stale version is 409; shrinking is 400', async () => {
    const change = { ...good, accessMode: 'ReadOnlyMany' };
    const refused = await daemon.rest('PUT', `${volumes}/v`, change);
    expect(refused.status).to.equal(400);
    expect(refused.body.message).to.contain('accessMode').and.contain('immutable');
    const stale = { ...good, metadata: { resourceVersion: '1' } };
    const conflict = await daemon.rest('PUT', `${volumes}/v`, stale);
    expect(conflict.status).to.equal(409);
    expect(conflict.body.reason).to.equal('Conflict');
    expect((await daemon.rest('PUT', `${volumes}/v`, { ...good, size: '1Mi' })).status).to.equal(
      400,
    );
    const grown = await daemon.ok('POST', `${volumes}/v:resize`, { size: '2Gi' });
    expect(grown.size).to.equal('2Gi');
  });

  it('dry run validates everything and stores nothing', async () => {
    const dry = await daemon.rest('POST', `${volumes}?dryRun=true`, { ...good, name: 'dry' });
    expect(dry.status).to.equal(200);
    expect((await daemon.rest('GET', `${volumes}/dry`)).status).to.equal(404);
    const bad = await daemon.rest('POST', `${volumes}?dryRun=true`, { ...good, size: 'x' });
    expect(bad.status).to.equal(400);
  });

  it('rule 9: a second default class is 400', async () => {
    const base = { driver: 'local', default: true };
    await daemon.ok('POST', '/v1/storageclasses', { ...base, name: 'first' });
    const second = await daemon.rest('POST', '/v1/storageclasses', { ...base, name: 'second' });
    expect(second.status).to.equal(400);
    expect(second.body.message).to.contain('first');
  });

  it('neither a class in use nor a namespace with content can be deleted', async () => {
    expect((await daemon.rest('DELETE', '/v1/storageclasses/local')).status).to.equal(412);
    await daemon.ok('POST', '/v1/namespaces', { name: 'full' });
    await daemon.ok('POST', '/v1/namespaces/full/volumes', good);
    expect((await daemon.rest('DELETE', '/v1/namespaces/full')).status).to.equal(412);
    await daemon.ok('DELETE', '/v1/namespaces/full?cascade=true');
    await eventually('the namespace to be gone', async () => {
      const { status: code } = await daemon.rest('GET', '/v1/namespaces/full');
      return code === 404;
    });
    const missing = await daemon.rest('POST', '/v1/namespaces/full/volumes', good);
    expect(missing.status).to.equal(404);
    await daemon.ok('POST', '/v1/namespaces/full/volumes?ensureNamespace=true', good);
    const odd = await daemon.rest('POST', '/v1/namespaces/A_b/volumes?ensureNamespace=true', good);
    expect(odd.status).to.equal(400);
    expect((await daemon.rest('GET', '/v1/namespaces/A_b')).status).to.equal(404);
  });

  const serviceRefusals: readonly [string, object, RegExp][] = [
    [
      'rule 1: neither claim nor claimTemplate',
      { volumes: [{ name: 'a', mountPath: '/a' }] },
      /exactly one of claim/,
    ],
    [
      'rule 2: a blocked mount path',
      { volumes: [{ name: 'a', mountPath: '/proc/x', claim: { name: 'v' } }] },
      /mountPath.*\/proc/,
    ],
    [
      'rule 2: one path twice',
      {
        volumes: [
          { name: 'a', mountPath: '/a', claim: { name: 'w' } },
          { name: 'b', mountPath: '/a/', claim: { name: 'w' } },
        ],
      },
      /volumes\[1\]\.mountPath/,
    ],
    [
      'rule 2: a volume in the way of a mounted secret',
      {
        volumes: [{ name: 'a', mountPath: '/a', claim: { name: 'w' } }],
        secretMounts: [{ name: 's', mountPath: '/a/b' }],
      },
      /secretMounts\[0\]\.mountPath.*overlaps \\?"\/a\\?" of volumes\[0\]/,
    ],
    [
      'rule 2: a mounted configmap at a blocked path, and a file that leads out',
      {
        configmapMounts: [{ name: 'c', mountPath: '/sys/x', items: [{ key: 'k', path: '../k' }] }],
      },
      /configmapMounts\[0\]\.items\[0\]\.path.*configmapMounts\[0\]\.mountPath.*\/sys/s,
    ],
    [
      'rule 3: a ReadWriteOnce claim at scale 2',
      { scale: 2, volumes: [{ name: 'a', mountPath: '/a', claim: { name: 'v' } }] },
      /ReadWriteOnce.*scale/,
    ],
    [
      'rule 4: a template mode the driver lacks',
      {
        volumes: [
          {
            name: 'a',
            mountPath: '/a',
            claimTemplate: { storageClassName: 'local', size: '1Gi', accessMode: 'ReadOnlyMany' },
          },
        ],
      },
      /not supported by driver local/,
    ],
    [
      'rule 7: a process with another driver',
      {
        runtime: 'process',
        image: undefined,
        command: ['true'],
        volumes: [{ name: 'a', mountPath: '/a', claim: { name: 'v' } }],
      },
      /runtime process/,
    ],
    [
      'a command with a NUL character',
      { runtime: 'process', image: undefined, command: ['a\0b'] },
      /command\[0\].*NUL/,
    ],
    ['an environment name with =', { env: { 'a=b': 'x' } }, /env\.a=b/],
    [
      'an environment name that no shell sets',
      { env: { 'a-b': 'x' } },
      /env\.a-b.*letters, digits/,
    ],
    [
      'a prefix that is not valid in a variable name',
      { envFrom: [{ configmap: 'c', prefix: '9.' }] },
      /envFrom\[0\]\.prefix.*"9\."/,
    ],
    ['a user that is neither a name nor a uid', { user: 'a b' }, /user.*"a b".*1000:1000/],
    ['the uid that means no user', { user: '4294967295' }, /user.*"4294967295"/],
    [
      'an unknown capability',
      { capabilities: ['net_bind_service', 'fly'] },
      /capabilities\[1\].*"fly" is not a capability.*net_bind_service/,
    ],
    [
      'none beside a capability',
      { capabilities: ['chown', 'none'] },
      /capabilities\[1\].*"none" excludes other capabilities/,
    ],
    [
      'a capability listed twice',
      { capabilities: ['CAP_CHOWN', 'chown'] },
      /capabilities\[1\].*"chown" is listed twice/,
    ],
    ['a container without an image', { image: undefined }, /image.*required/],
  ];
  for (const [what, change, rule] of serviceRefusals)
    it(`${what} is 400`, async () => {
      const body = { name: 's', image: 'busybox', ...change };
      const answer = await daemon.rest('POST', '/v1/namespaces/default/services', body);
      expect(answer.status, JSON.stringify(answer.body)).to.equal(400);
      expect(answer.body.message).to.match(rule);
    });

  it('rule 3 also holds for :scale', async () => {
    const claim = { name: 'a', mountPath: '/a', claim: { name: 'v' } };
    const path = '/v1/namespaces/default/services';
    await daemon.ok('POST', path, { name: 'one', image: 'busybox', volumes: [claim] });
    const scaled = await daemon.rest('POST', `${path}/one:scale`, { scale: 2 });
    expect(scaled.status).to.equal(400);
    expect((await daemon.ok('POST', `${path}/one:scale`, { scale: 0 })).scale).to.equal(0);
  });

  it('rule 10: a missing secret is InvalidParameters until it is created', async () => {
    const parameters = { hostPath: 'secret:paths/p', createIfMissing: 'true' };
    const body = { ...good, name: 'healing', storageClassName: 'local-host', parameters };
    await daemon.ok('POST', volumes, body);
    const failed = await eventually('Failed', async () => {
      const volume = await daemon.ok('GET', `${volumes}/healing`);
      return volume.status === 'Failed' ? volume : undefined;
    });
    expect(failed.reason).to.equal('InvalidParameters');
    expect(failed.failureMessage).to.contain('InvalidParameters').and.contain('default/paths');
    const data = { p: `${daemon.home}/host/healing` };
    await daemon.ok('POST', '/v1/namespaces/default/secrets', { name: 'paths', data });
    await eventually('Available', async () => {
      const volume = await daemon.ok('GET', `${volumes}/healing`);
      return volume.status === 'Available';
    });
  });

  it('a Failed volume of a deleted class stays Failed with that reason until the class is created', async () => {
    const cls = { name: 'fading', driver: 'local-host', parameters: { hostPath: 'secret:none/p' } };
    await daemon.ok('POST', '/v1/storageclasses', cls);
    await daemon.ok('POST', volumes, { ...good, name: 'faded', storageClassName: 'fading' });
    const fails = (why: RegExp) =>
      eventually(`Failed for ${String(why)}`, async () => {
        const volume = await daemon.ok('GET', `${volumes}/faded`);
        return volume.status === 'Failed' && why.test(String(volume.failureMessage));
      });
    await fails(/none/);
    await daemon.ok('DELETE', '/v1/storageclasses/fading?force=true');
    await fails(/storage class "fading" does not exist/);
    const parameters = { hostPath: `${daemon.home}/host/faded`, createIfMissing: 'true' };
    await daemon.ok('POST', '/v1/storageclasses', { ...cls, parameters });
    await eventually('Available', async () => {
      const volume = await daemon.ok('GET', `${volumes}/faded`);
      return volume.status === 'Available';
    });
  });

  it('the volumes of prod and production are separate in lists, watches and handles', async () => {
    for (const name of ['prod', 'production']) {
      await daemon.ok('POST', '/v1/namespaces', { name });
      await daemon.ok('POST', `/v1/namespaces/${name}/volumes`, { ...good, labels: { in: name } });
    }
    const mine = await daemon.list('/v1/namespaces/prod/volumes');
    expect(mine.map((v) => v.namespace)).to.deep.equal(['prod']);
    const watch = '/v1/namespaces/prod/volumes?watch=true';
    const seen = await daemon.events(watch, undefined, (e) =>
      e.some((x) => x.event === 'BOOKMARK'),
    );
    const spaces = seen.flatMap((e) =>
      e.data.object ? [(e.data.object as Volume).namespace] : [],
    );
    expect([...new Set(spaces)]).to.deep.equal(['prod']);
    const handles = await eventually('both volumes', async () => {
      const all = await daemon.list('/v1/namespaces/-/volumes?labelSelector=in');
      const found = all.map((v) => v.handle).filter((h) => h !== '');
      return found.length === 2 ? found : undefined;
    });
    expect(handles[0]).to.not.equal(handles[1]);
  });

  it('secrets are masked, revealed on demand, and nowhere on disk or in the log in plaintext', async () => {
    const path = '/v1/namespaces/default/secrets';
    const canary = 'canary-4711-plaintext';
    const made = await daemon.ok('POST', path, { name: 'c', data: { password: canary } });
    expect(JSON.stringify(made)).to.not.contain(canary);
    const body = {
      name: 'clouded',
      driver: 'cloud1-volume',
      parameters: { region: 'x', apiToken: canary },
    };
    const cls = await daemon.ok('POST', '/v1/storageclasses', body);
    expect(JSON.stringify(cls)).to.not.contain(canary);
    const back = { ...(await daemon.ok('GET', `${path}/c`)) };
    await daemon.ok('PUT', `${path}/c`, { name: 'c', data: back.data });
    const revealed = await daemon.ok('GET', `${path}/c?reveal=true`);
    expect(revealed.data).to.deep.equal({ password: canary });
    const files = await readdir(daemon.data, { recursive: true, withFileTypes: true });
    for (const file of files.filter((f) => f.isFile())) {
      const content = await readFile(`${file.parentPath}/${file.name}`);
      expect(content.includes(canary), file.name).to.equal(false);
    }
    expect(daemon.log).to.not.contain(canary);
  });
});
