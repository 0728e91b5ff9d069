import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { kedgeClient } from '@kedge/api/client';
import type { TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, type RealEngine } from './engine.js';
import { startEngineAndDaemon, stopEngineAndDaemon } from './engine-daemon.js';

const base = '/v1/namespaces/default';

interface Listed {
  readonly id: string;
  readonly tags: readonly string[];
  readonly origin?: string;
  readonly instances: readonly string[];
}

describe('images from a file', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let daemon: TestDaemon;
  const environment: Record<string, string> = {
    KEDGE_CONTROLLERS_IMAGE_DISK_CHECK_MS: '1000',
    // No image is removed automatically.
    KEDGE_RUNTIME_IMAGE_DISK_HIGH_PERCENT: '100',
  };

  before(async function () {
    ({ engine, daemon } = await startEngineAndDaemon(this, { environment }));
  });
  after(() => stopEngineAndDaemon({ engine, daemon }));

  /** Saves an image with content of its own under a name, and removes it from the engine. */
  function saved(name: string, content = name): string {
    const container = engine.docker('create', busyboxImage, 'sh');
    engine.docker('commit', '--change', `LABEL content=${content}`, container, name);
    engine.docker('rm', container);
    const file = join(engine.directory, `${name.replaceAll(/[/:]/g, '-')}.tar`);
    engine.docker('save', '--output', file, name);
    engine.docker('rmi', name);
    return file;
  }
  const listed = async (): Promise<readonly Listed[]> => {
    const node = (await daemon.list('/v1/nodes'))[0]?.name;
    const { items } = await daemon.ok('GET', `/v1/nodes/${String(node)}/images`);
    return items as Listed[];
  };
  const named = async (name: string): Promise<Listed | undefined> =>
    (await listed()).find(({ tags }) => tags.includes(name));
  const cast = async (name: string, image: string): Promise<void> => {
    const service = { name, image, command: ['sleep', '600'], terminationGracePeriodSeconds: 0 };
    await daemon.ok('POST', `${base}/services`, service);
    await eventually(
      `${name} to run`,
      async () =>
        (await daemon.rest('GET', `${base}/instances/${name}-0`)).body.status === 'Running',
      60_000,
    );
  };
  const gone = async (name: string): Promise<void> => {
    await daemon.ok('DELETE', `${base}/services/${name}`);
    await eventually(
      `${name} to be gone`,
      async () => (await daemon.rest('GET', `${base}/services/${name}`)).status === 404,
      60_000,
    );
  };

  it('are loaded through the daemon, run, and are listed with their origin and the instances that need them', async () => {
    const file = saved('kedge-test/loaded:1');
    const load = await daemon.cli('image', 'load', file);
    expect([load.code, load.stdout]).to.deep.equal([0, 'kedge-test/loaded:1 loaded\n']);
    expect(load.stderr).to.match(/MiB of .* MiB loaded/);
    await cast('app', 'kedge-test/loaded:1');
    expect(await named('kedge-test/loaded:1')).to.include({ origin: 'loaded' });
    expect((await named('kedge-test/loaded:1'))?.instances).to.deep.equal(['default/app-0']);
    expect((await named(busyboxImage))?.origin).to.equal(undefined);
    const { stdout } = await daemon.cli('image', 'list');
    expect(stdout).to.match(/^IMAGE +ID +SIZE +AGE +FROM +INSTANCES/);
    expect(stdout).to.match(/kedge-test\/loaded:1 .* loaded +default\/app-0/);
    expect(stdout).to.match(/kedge-test\/busybox:1 .* others/);
  });

  it('are pruned only if Kedge loaded them, no instance needs them, and they have no other name', async () => {
    for (const name of ['unused', 'shared'])
      await daemon.cli('image', 'load', saved(`kedge-test/${name}:1`));
    engine.docker('tag', 'kedge-test/shared:1', 'someone/else:1');
    // Loaded again by Kedge, although another user of the engine has it.
    const mine = join(engine.directory, 'busybox-again.tar');
    engine.docker('save', '--output', mine, busyboxImage);
    await daemon.cli('image', 'load', mine);
    expect((await named(busyboxImage))?.origin).to.equal(undefined);

    const dry = await daemon.cli('image', 'prune', '--dry-run');
    expect(dry.stdout).to.match(/kedge-test\/unused:1[^]*\n1 image would be removed, .* MiB\n$/);
    expect(await named('kedge-test/unused:1')).not.to.equal(undefined);

    const prune = await daemon.cli('image', 'prune');
    expect(prune.stdout).to.match(/\n1 image removed, /);
    const tags = (await listed()).flatMap((image) => image.tags).sort();
    expect(tags).to.deep.equal(
      [
        'kedge-test/busybox:1',
        'kedge-test/loaded:1',
        'kedge-test/shared:1',
        'someone/else:1',
      ].sort(),
    );
    await gone('app');
    expect((await daemon.cli('image', 'prune')).stdout).to.match(/kedge-test\/loaded:1/);
  });

  it('a file that is not a tar archive, a missing file and an unknown node are refused with a message', async () => {
    const file = join(engine.directory, 'no-tar');
    await writeFile(file, 'x'.repeat(100_000));
    const refused = await daemon.cli('image', 'load', file);
    expect(refused.code).not.to.equal(0);
    expect(refused.stderr).to.match(
      /container engine of node .* rejected the request: |the tar archive contains no image/,
    );
    const empty = join(engine.directory, 'empty');
    await writeFile(empty, '');
    for (const [path, what] of [
      [empty, 'is empty; create an archive with: docker save'],
      [engine.directory, 'is a directory; create an archive with: docker save'],
      // A stream without data.
      ['/dev/null', 'docker save'],
    ] as const) {
      const { code, stderr } = await daemon.cli('image', 'load', path);
      expect(code, path).not.to.equal(0);
      expect(stderr).to.contain(what);
    }
    const missing = await daemon.cli('image', 'load', '/no/such/file');
    expect(missing.stderr).to.match(/\/no\/such\/file can't be read: .*ENOENT/);
    const elsewhere = await daemon.cli('image', 'list', '--node', 'elsewhere');
    expect(elsewhere.stderr).to.match(/elsewhere/);
  });

  it('with more names than an archive may have are refused, and none is loaded', async () => {
    const folder = join(engine.directory, 'many');
    await mkdir(folder);
    execFileSync('tar', ['-C', folder, '-xf', saved('kedge-test/many:1')]);
    const list = join(folder, 'manifest.json');
    const images = JSON.parse(await readFile(list, 'utf8')) as { RepoTags: string[] }[];
    for (const image of images)
      image.RepoTags = Array.from({ length: 20_000 }, (_, n) => `kedge-test/many:${n}`);
    await writeFile(list, JSON.stringify(images));
    const file = join(engine.directory, 'many.tar');
    execFileSync('tar', ['-C', folder, '-cf', file, '.']);
    const before = await listed();
    const { code, stderr } = await daemon.cli('image', 'load', file);
    expect(code).not.to.equal(0);
    expect(stderr)
      .to.contain('the tar archive has 20000 names of images, and at most 1000 names can be loaded')
      .and.contain('docker save -o FILE IMAGE');
    expect(await listed()).to.deep.equal(before);
  });

  it('need the right to load, which policy readwrite lacks, and a piece has at most 1 MiB', async () => {
    const user = { name: 'writer', policies: ['readwrite'] };
    await daemon.ok('POST', '/v1/admin/users', user);
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', {
      subject: 'writer',
    });
    const limited = kedgeClient({ server: daemon.grpcAddress, token: String(token) }).api;
    const own = kedgeClient({ server: daemon.grpcAddress, token: daemon.token }).api;
    const never = new AbortController();
    async function* pieces(bytes: number): AsyncIterable<Record<string, unknown>> {
      yield { start: {} };
      yield { data: Buffer.alloc(bytes).toString('base64') };
    }
    const sent = async (client: typeof own, bytes: number): Promise<string> => {
      try {
        const answers = client.duplex('ImageService.Load', pieces(bytes), never.signal);
        for await (const _ of answers);
        return 'OK';
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    try {
      expect(await sent(limited, 10)).to.equal('PermissionDenied');
      expect(await sent(own, 1_048_577)).to.equal('InvalidArgument');
      expect((await limited.call('ImageService.List', {})).items).to.be.an('array');
      const prune = limited.call('ImageService.Prune', {}).then(
        () => 'OK',
        (error: { code: string }) => error.code,
      );
      expect(await prune).to.equal('PermissionDenied');
    } finally {
      limited.close();
      own.close();
    }
  });

  it('a caller that disconnects midway leaves nothing in the engine', async () => {
    const before = engine.docker('images', '--all', '--quiet', '--no-trunc');
    const file = saved('kedge-test/half:1');
    const own = kedgeClient({ server: daemon.grpcAddress, token: daemon.token }).api;
    const away = new AbortController();
    async function* half(): AsyncIterable<Record<string, unknown>> {
      yield { start: {} };
      const end = Math.floor((await stat(file)).size / 2);
      for await (const piece of createReadStream(file, { end, highWaterMark: 65_536 }))
        yield { data: (piece as Buffer).toString('base64') };
      away.abort();
    }
    for await (const _ of own.duplex('ImageService.Load', half(), away.signal));
    own.close();
    expect(engine.docker('images', '--all', '--quiet', '--no-trunc')).to.equal(before);
    // The cancelled load no longer counts towards the limit of concurrent loads.
    const load = await daemon.cli('image', 'load', file);
    expect(load.code).to.equal(0);
  });

  it('above the limit of the disk unused ones are removed automatically, and events of the node report it', async () => {
    await daemon.cli('image', 'load', saved('kedge-test/old:1'));
    await daemon.cli('image', 'load', saved('kedge-test/used:1'));
    await cast('keeps', 'kedge-test/used:1');
    await daemon.end('SIGTERM');
    environment['KEDGE_RUNTIME_IMAGE_DISK_HIGH_PERCENT'] = '1';
    await daemon.run();
    await eventually(
      'the removal',
      async () => (await named('kedge-test/old:1')) === undefined,
      30_000,
    );
    const event = await eventually('the event', async () => {
      const all = await daemon.list('/v1/namespaces/-/events?limit=500').catch(() => []);
      return all.find(({ reason }) => reason === 'ImagesPruned');
    });
    expect(event.message).to.match(/is more than 1 % full: .* unused images removed: .*old:1/);
    expect(event.regarding).to.include({ kind: 'Node' });
    await eventually('the event that the disk is still too full', async () => {
      const all = await daemon.list('/v1/namespaces/-/events?limit=500').catch(() => []);
      return all.find(({ reason }) => reason === 'ImageDiskFull');
    });
    expect(await named('kedge-test/used:1')).not.to.equal(undefined);
    expect(await named(busyboxImage)).not.to.equal(undefined);
    await gone('keeps');
  });

  it('without an engine the error has the remedy', async () => {
    await engine.killDockerd();
    const { stderr, code } = await daemon.cli('image', 'list');
    expect(code).not.to.equal(0);
    expect(stderr).to.match(/container engine.*(start the engine|does not exist)/);
    await engine.startDockerd();
  });
});
