import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { finish, root, TestDaemon, workload } from '../daemon.js';
import { runner } from './run.js';

const volumes = '/v1/namespaces/default/volumes';
const configmaps = '/v1/namespaces/default/configmaps';

interface Stored {
  readonly labels: Readonly<Record<string, string>>;
  readonly data: Readonly<Record<string, string>>;
  readonly size: string;
  readonly metadata: {
    readonly annotations: Readonly<Record<string, string>>;
    readonly resourceVersion: string;
  };
}

describe('commands that change an object', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  const run = runner(() => daemon);
  before(async () => {
    daemon = await TestDaemon.start();
    const size = { size: '16Mi', accessMode: 'ReadWriteOnce' };
    for (const name of ['data', 'other']) await daemon.ok('POST', volumes, { name, ...size });
    const { service } = workload(daemon, 'web', 'sleep 600');
    await daemon.ok('POST', '/v1/namespaces/default/services', { ...service, volumes: [] });
    await daemon.ok('POST', configmaps, { name: 'settings', data: { a: 'b' } });
    await daemon.ok('POST', '/v1/namespaces/default/secrets', {
      name: 'login',
      data: { password: 'tide' },
    });
  });
  after(() => daemon.dispose());

  const stored = async (path: string): Promise<Stored> =>
    (await daemon.ok('GET', path)) as unknown as Stored;

  it('label sets, replaces only with --overwrite, and removes', async () => {
    expect(await run('label volume data other tier=gold')).to.equal(
      'volumes/data labels changed\nvolumes/other labels changed\n',
    );
    expect(await run('label volume/data tier=gold')).to.equal('volumes/data unchanged\n');
    expect(await run('label volume/data tier=silver', 5)).to.contain('--overwrite replaces it');
    await run('label volume/data tier=silver a=1 --overwrite --dry-run');
    expect((await stored(`${volumes}/data`)).labels).to.deep.equal({ tier: 'gold' });
    await run('label volume/data tier=silver a=1 --overwrite');
    expect((await stored(`${volumes}/data`)).labels).to.deep.equal({ tier: 'silver', a: '1' });
    await run('label volume/data tier- a-');
    expect((await stored(`${volumes}/data`)).labels).to.deep.equal({});
    expect(await run('label volume/data', 2)).to.contain('no change is given');
  });

  it('annotate sets and removes annotations', async () => {
    await run('annotate configmap settings owner=ada team=sea');
    await run('annotate configmap/settings team-');
    const { metadata } = await stored(`${configmaps}/settings`);
    expect(metadata.annotations).to.deep.equal({ owner: 'ada' });
  });

  it('a missing object does not prevent the change of others', async () => {
    const output = await run('label volume/absent volume/other colour=blue', 4);
    expect(output).to.contain('volumes/other labels changed').and.contain('absent');
  });

  it('patch changes the given fields and removes those that are null', async () => {
    expect(await run(['patch', 'volume', 'data', '--patch', '{"size": "32Mi"}'])).to.contain(
      'volumes/data patched',
    );
    expect((await stored(`${volumes}/data`)).size).to.equal('32Mi');
    await run(['patch', 'configmap/settings', '-p', 'data: {a: null, c: d}']);
    expect((await stored(`${configmaps}/settings`)).data).to.deep.equal({ c: 'd' });
    await run(['patch', 'configmap/settings', '-p', 'data: {c: e}', '--dry-run']);
    expect((await stored(`${configmaps}/settings`)).data).to.deep.equal({ c: 'd' });
    expect(await run(['patch', 'configmap/settings', '-p', 'data: {c: d}'])).to.contain(
      'unchanged',
    );
  });

  it('patch refuses unknown fields, those of the server, and another version', async () => {
    const refused = async (patch: string, code: number) =>
      run(['patch', 'volume', 'data', '-p', patch], code);
    expect(await refused('siez: 1Gi', 6)).to.contain('siez: is not a field; did you mean size?');
    expect(await refused('status: Bound', 6)).to.contain('is set by the server');
    expect(await refused('name: else', 6)).to.contain("can't be changed");
    expect(await refused('[1]', 6)).to.contain('must be an object');
    expect(await refused('size: [', 6)).to.contain('neither JSON nor YAML');
    const stale = '{"metadata": {"resourceVersion": "1"}, "size": "64Mi"}';
    expect(await refused(stale, 5)).to.contain('changed since it was read');
    expect((await stored(`${volumes}/data`)).size).to.equal('32Mi');
  });

  it('a patch that conflicts with other writers is retried, and keeps their changes', async () => {
    const writers = Array.from({ length: 4 }, (_, n) =>
      run(['patch', 'configmap/settings', '-p', `data: {writer-${n}: done}`]),
    );
    await Promise.all(writers);
    const { data } = await stored(`${configmaps}/settings`);
    expect(Object.keys(data).filter((key) => key.startsWith('writer-'))).to.have.length(4);
  });

  it('patch reads a file and standard input', async () => {
    const file = join(daemon.home, 'patch.yaml');
    await writeFile(file, 'data: {from: file}\n');
    await run(['patch', 'configmap/settings', '-p', `@${file}`]);
    expect((await stored(`${configmaps}/settings`)).data['from']).to.equal('file');
    const line = `echo 'data: {from: input}' | "$NODE" cmd/bin/kedge.mjs patch configmap/settings -p -`;
    const environment = { ...daemon.cliEnvironment, NODE: process.execPath };
    const done = await finish('sh', ['-c', line], environment);
    expect(done.code, done.stderr).to.equal(0);
    expect((await stored(`${configmaps}/settings`)).data['from']).to.equal('input');
  });

  describe('edit', () => {
    /** An editor that runs a shell line on the file in $1. */
    async function edit(
      line: string,
      target: string,
    ): Promise<{ readonly code: number | null; readonly output: string }> {
      const editor = join(daemon.home, 'editor');
      await writeFile(editor, `#!/bin/sh\n${line}\n`);
      await chmod(editor, 0o755);
      const environment = { ...daemon.cliEnvironment, KEDGE_EDITOR: editor, TMPDIR: daemon.home };
      const args = [join(root, 'cmd/bin/kedge.mjs'), 'edit', ...target.split(' ')];
      const { code, stdout, stderr } = await finish(process.execPath, args, environment);
      return { code, output: stdout + stderr };
    }
    const kept = async (output: string): Promise<string> =>
      readFile(/kept in (\S+):/.exec(output)?.[1] ?? 'nowhere', 'utf8');
    before(() => mkdir(join(daemon.home, 'tmp'), { recursive: true }));

    it('writes the edited object, and reports if nothing was changed', async () => {
      const changed = await edit(`sed -i 's/^size: .*/size: 64Mi/' "$1"`, 'volume data');
      expect(changed).to.deep.equal({ code: 0, output: 'volumes/data changed\n' });
      expect((await stored(`${volumes}/data`)).size).to.equal('64Mi');
      const same = await edit('true', 'volume/data');
      expect(same).to.deep.equal({ code: 0, output: 'volumes/data unchanged\n' });
      const failed = await edit('exit 3', 'volume/data');
      expect(failed.code).to.equal(1);
      expect(failed.output).to.contain('exit code 3, and nothing was changed');
    });

    it('shows no field that the server sets, and no value of a secret', async () => {
      await edit(`cp "$1" ${join(daemon.home, 'seen')}`, 'secret login');
      const seen = await readFile(join(daemon.home, 'seen'), 'utf8');
      expect(seen).to.contain('password: "********"').and.not.contain('tide');
      expect(seen).to.not.match(/^version:|uid:|createdAt:/m);
      const added = await edit(`sed -i 's/^  password:.*/&\\n  user: ada/' "$1"`, 'secret login');
      expect(added.code, added.output).to.equal(0);
      expect(await run('secret reveal login')).to.equal('password: tide\nuser: ada\n');
    });

    it('reports a conflict, writes nothing, and keeps the text', async () => {
      const meanwhile = `"${process.execPath}" cmd/bin/kedge.mjs label volume/data by=other >&2`;
      const { code, output } = await edit(
        `sed -i 's/^size: .*/size: 128Mi/' "$1"; ${meanwhile}`,
        'volume data',
      );
      expect(code, output).to.equal(5);
      expect(output).to.contain('another client changed the object');
      expect(await kept(output)).to.contain('size: 128Mi');
      expect((await stored(`${volumes}/data`)).size).to.equal('64Mi');
    });

    it('keeps a text that is refused, and names its line or field', async () => {
      const field = await edit(`sed -i 's/^size:/siez:/' "$1"`, 'volume data');
      expect(field.code).to.equal(6);
      expect(field.output).to.contain('did you mean size?');
      expect(await kept(field.output)).to.contain('siez: 64Mi');
      const yaml = await edit(`echo 'a: [' >> "$1"`, 'volume data');
      expect(yaml.code).to.equal(6);
      expect(yaml.output).to.match(/volume-data\.yaml:\d+/);
      const name = await edit(`sed -i 's/^name: .*/name: else/' "$1"`, 'volume data');
      expect(name.code).to.equal(6);
      expect(name.output).to.contain("can't be changed");
    });
  });

  it('scale prints the old and the new number, and accepts only services', async () => {
    expect(await run('scale service/web --replicas 2')).to.equal(
      'services/web scaled from 1 to 2\n',
    );
    expect((await daemon.ok('GET', '/v1/namespaces/default/services/web'))['scale']).to.equal(2);
    expect(await run('scale service web --replicas 2')).to.contain('unchanged: it has 2 replicas');
    expect(await run('scale volume/data --replicas 2', 6)).to.contain("volumes can't be scaled");
    expect(await run('scale service/web --replicas 100000', 6)).to.contain('1000');
    await run('scale service/web', 2);
    await run('scale service/web --replicas -1', 6);
    expect(await run('scale service/wbe --replicas 1', 4)).to.contain('Did you mean web?');
  });

  it('of a kind that is never changed is refused', async () => {
    expect(await run('label token/x a=b', 6)).to.contain("tokens can't be changed");
  });
});
