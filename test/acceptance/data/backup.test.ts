import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { type Finished, finish, root, TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';
const program = join(root, 'cmd/bin/kedged.mjs');

/** Runs `kedged` on a data directory. */
function kedged(data: string, ...args: string[]): Promise<Finished> {
  return finish(process.execPath, [program, ...args, '--data-directory', data]);
}

describe('backups of a stopped daemon', function () {
  this.timeout(180_000);
  let folder: string;
  let file: string;
  let daemon: TestDaemon;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-backups-'));
    file = join(folder, 'store.backup');
    daemon = await TestDaemon.start();
    await daemon.ok('POST', `${base}/secrets`, { name: 's', data: { password: 'hunter2' } });
    for (let n = 0; n < 20; n += 1)
      await daemon.ok('POST', `${base}/configmaps`, { name: `c${n}`, data: { n: String(n) } });
  });
  after(async () => {
    await daemon.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  it('backup and verify refuse the directory of a running daemon and name the online command', async () => {
    const refused = await kedged(daemon.data, 'backup', file);
    expect(refused.code).to.equal(1);
    expect(refused.stderr)
      .to.include('in use by process')
      .and.include(`kedge admin backup ${file}`);
    expect(await readdir(folder)).to.deep.equal([]);
    expect((await kedged(daemon.data, 'verify')).stderr).to.include('kedge admin backup FILE');
    expect((await kedged(daemon.data, 'restore', file)).code).to.equal(1);
  });

  it('a backup names the place of the key without containing it, and restores into an empty directory', async () => {
    await daemon.end('SIGTERM');
    const made = await kedged(daemon.data, 'backup', file);
    expect(made.code, made.stderr).to.equal(0);
    const keyFile = join(daemon.data, 'kek');
    expect(made.stdout).to.include(keyFile);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    const key = (await readFile(keyFile, 'utf8')).trim();
    const content = await readFile(file);
    for (const form of [key, Buffer.from(key, 'base64'), 'hunter2'])
      expect(content.includes(form)).to.equal(false);
    expect((await kedged(daemon.data, 'verify')).stdout).to.include('is intact');
    const verified = await kedged(daemon.data, 'verify', file);
    expect(verified.stdout)
      .to.include('is intact')
      .and.include('opens all of its sealed values (1)');

    const data = join(folder, 'restored');
    await mkdir(data);
    await cp(keyFile, join(data, 'kek'));
    const restored = await kedged(data, 'restore', file);
    expect(restored.code, restored.stderr).to.equal(0);
    expect(restored.stdout).to.include(`destroy each other's data`).and.include('--as-copy');
    expect((await kedged(data, 'verify')).code).to.equal(0);
  });

  it('a restore without the key, or with another one, is refused and changes nothing', async () => {
    const data = join(folder, 'other-key');
    await mkdir(data);
    const without = await kedged(data, 'restore', file);
    expect(without.code).to.equal(1);
    expect(without.stderr)
      .to.include('no key-encryption key at')
      .and.include('Nothing was changed');
    expect(await readdir(data)).to.deep.equal([]);
    await writeFile(join(data, 'kek'), `${Buffer.alloc(32, 7).toString('base64')}\n`);
    const wrong = await kedged(data, 'restore', file);
    expect(wrong.code).to.equal(1);
    expect(wrong.stderr).to.include("can't open the values").and.include('Nothing was changed');
    expect(await readdir(data)).to.deep.equal(['kek']);
    expect((await kedged(data, 'verify', file)).code).to.equal(1);
  });

  it('a restore over a store is refused, and with --replace keeps that store in another directory', async () => {
    const refused = await kedged(daemon.data, 'restore', file);
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.include('--replace').and.include('nothing was changed');
    const replaced = await kedged(daemon.data, 'restore', file, '--replace');
    expect(replaced.code, replaced.stderr).to.equal(0);
    expect(replaced.stdout).to.include('replaced-1');
    await daemon.run();
    expect((await daemon.ok('GET', `${base}/secrets/s?reveal=true`)).data).to.deep.equal({
      password: 'hunter2',
    });
    expect(await daemon.list(`${base}/configmaps`)).to.have.length(20);
    await daemon.end('SIGTERM');
  });

  it('a truncated or damaged backup is refused by verify and restore', async () => {
    const whole = await readFile(file);
    const data = join(folder, 'from-damaged');
    await mkdir(data);
    await cp(join(daemon.data, 'kek'), join(data, 'kek'));
    const damaged = join(folder, 'damaged.backup');
    const spoiled = [whole.subarray(0, whole.length - 1), whole.subarray(0, whole.length >> 1)];
    for (const share of [0.001, 0.3, 0.6, 0.999]) {
      const bytes = Buffer.from(whole);
      const at = Math.floor(bytes.length * share);
      bytes[at] = (bytes[at] ?? 0) ^ 4;
      spoiled.push(bytes);
    }
    for (const bytes of spoiled) {
      await writeFile(damaged, bytes);
      for (const command of ['verify', 'restore']) {
        const refused = await kedged(data, command, damaged);
        expect(refused.code).to.equal(1);
        expect(refused.stderr).to.match(/is damaged|has format/);
      }
    }
    expect(await readdir(data)).to.deep.equal(['kek']);
  });

  it('a killed restore leaves the previous or the complete restored store', async () => {
    const data = join(folder, 'killed');
    await mkdir(data);
    await cp(join(daemon.data, 'kek'), join(data, 'kek'));
    expect((await kedged(data, 'restore', file)).code).to.equal(0);
    const found = new Set<string>();
    for (let delay = 150; delay <= 600; delay += 75) {
      const args = [program, 'restore', file, '--replace', '--data-directory', data];
      const child = spawn(process.execPath, args, { stdio: 'ignore' });
      const ended = new Promise((resolve) => child.on('close', resolve));
      await Promise.race([
        ended,
        new Promise((resolve) => {
          setTimeout(resolve, delay);
        }),
      ]);
      child.kill('SIGKILL');
      await ended;
      const verified = await kedged(data, 'verify');
      expect(verified.code, verified.stderr).to.equal(0);
      found.add(/(\d+) objects/.exec(verified.stdout)?.[1] ?? verified.stdout);
    }
    expect(found.size).to.equal(1);
  });

  it('the error about a damaged store names the command that restores a backup', async () => {
    const data = join(folder, 'killed');
    await rm(join(data, 'high-water'));
    for (const args of [['verify'], []]) {
      const refused = await kedged(data, ...args);
      expect(refused.code).to.equal(1);
      expect(refused.stderr).to.include('is damaged').and.include('kedged restore FILE --replace');
    }
    const unknown = await kedged(data, 'restore', file, '--replace');
    expect(unknown.code).to.equal(1);
    expect(unknown.stderr).to.include('--after-revision N');
    const args = ['restore', file, '--replace', '--after-revision', '99999999999999'];
    expect((await kedged(data, ...args)).code).to.equal(0);
  });

  it('salvage lists objects and losses of a damaged store, and writes a backup that restores it', async () => {
    const data = join(folder, 'refused');
    const filter = (path: string): boolean => !/holder$/.test(path);
    await cp(daemon.data, data, { recursive: true, filter });
    await rm(join(data, 'high-water'));
    expect((await kedged(data, 'verify')).stderr).to.include('kedged salvage');
    const before = (await readdir(data)).sort();
    const running = await kedged(daemon.data, 'salvage');
    expect(running.stdout).to.include('nothing is lost');
    const listed = await kedged(data, 'salvage');
    expect(listed.code, listed.stderr).to.equal(0);
    expect(listed.stdout)
      .to.include('Configmap default/c7')
      .and.include("high-water file can't be read");
    expect((await readdir(data)).sort()).to.deep.equal(before);
    const salvaged = join(folder, 'salvaged.backup');
    expect((await kedged(data, 'salvage', salvaged)).code).to.equal(0);
    const fresh = join(folder, 'from-salvaged');
    await mkdir(fresh);
    await cp(join(data, 'kek'), join(fresh, 'kek'));
    const restored = await kedged(fresh, 'restore', salvaged);
    expect(restored.code, restored.stderr).to.equal(0);
    expect((await kedged(fresh, 'verify')).code).to.equal(0);
  });

  it('the commands of the guide work as documented', async () => {
    const guide = await readFile(join(root, 'docs/guides/operating.md'), 'utf8');
    const lines = [...guide.matchAll(/```bash\n([^]*?)```/g)].flatMap(([, text = '']) =>
      text.split('\n').filter((line) => line !== ''),
    );
    expect(lines).to.have.length(10);
    await mkdir(join(folder, 'srv'));
    for (const line of lines) {
      const typed = line
        .replaceAll('/srv/backups', join(folder, 'srv'))
        .replaceAll('/var/lib/kedge-copy', join(folder, 'guide-copy'))
        .replaceAll('/var/lib/kedge/', `${daemon.data}/`)
        .replace(/^kedged/, `"${process.execPath}" "${program}"`);
      const done = await finish('bash', ['-c', typed], { KEDGE_STORE_PATH: daemon.data });
      expect(done.code, `${line}\n${done.stderr}`).to.equal(0);
      if (line.startsWith('kedged')) expect(done.stdout, line).to.not.equal('');
    }
  });

  it('an unwritable or unreadable file is named with the remedy', async () => {
    const away = join(folder, 'gone', 'store.backup');
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [
        ['backup', away],
        /gone\/store\.backup can't be written.*create the directory, or use a file in an existing one/,
      ],
      [
        ['backup', join(folder, 'kept.txt', 'x')],
        /kept\.txt is not a directory.*use a file in an existing one/,
      ],
      [['verify', folder], /is a directory, and a backup is one file/],
      [['verify', away], /gone\/store\.backup does not exist; use a file/],
      [['restore', away, '--replace'], /gone\/store\.backup does not exist; use a file/],
    ];
    await writeFile(join(folder, 'kept.txt'), 'bytes');
    for (const [args, words] of cases) {
      const refused = await kedged(daemon.data, ...args);
      expect(refused.code, args.join(' ')).to.equal(1);
      expect(refused.stderr, args.join(' ')).to.match(words);
    }
    expect(existsSync(join(folder, 'gone'))).to.equal(false);
  });

  it('a directory without a store is reported as such, and none is created there', async () => {
    const data = join(folder, 'empty');
    await mkdir(data);
    for (const args of [['backup', join(folder, 'none')], ['verify'], ['recover-root']]) {
      const refused = await kedged(data, ...args);
      expect(refused.code, args.join(' ')).to.equal(1);
      expect(refused.stderr).to.include('contains no store');
      expect(refused.stdout, 'no token of another store').to.equal('');
    }
    expect(await readdir(data)).to.deep.equal([]);
  });

  it('a directory whose files can not be looked up does not count as one without a store or a key', async () => {
    const data = join(folder, 'unreadable');
    await mkdir(data);
    for (const name of ['db', 'kek']) await symlink(name, join(data, name));
    const unreadable =
      /unreadable\/(db|kek) can't be read \(ELOOP.*run the command as the user of kedged/;
    const file = join(folder, 'of-unreadable.backup');
    const { code, stderr } = await kedged(daemon.data, 'backup', file);
    expect(code, stderr).to.equal(0);
    for (const args of [['verify'], ['recover-root'], ['verify', file]]) {
      const refused = await kedged(data, ...args);
      expect(refused.code, args.join(' ')).to.equal(1);
      expect(refused.stderr, args.join(' ')).to.match(unreadable);
    }
  });
});

describe('a copy of a cluster beside the original', function () {
  this.timeout(180_000);
  let original: TestDaemon;
  let copy: TestDaemon;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-copies-'));
    original = await TestDaemon.start();
  });
  after(async () => {
    await copy?.dispose();
    await original.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const until = (daemon: TestDaemon, path: string, status: string) =>
    eventually(`${path} ${status}`, async () => {
      const { body } = await daemon.rest('GET', `${base}/${path}`);
      return body.status === status ? body : undefined;
    });

  it('shows its volumes and snapshots as foreign and calls no driver for them, also at their deletion', async () => {
    const common = {
      size: '16Mi',
      accessMode: 'ReadWriteOnce',
      storageClassName: 'local',
      reclaimPolicy: 'delete',
    };
    const image = { backing: 'image' };
    await original.ok('POST', `${base}/volumes`, { ...common, name: 'directory' });
    await original.ok('POST', `${base}/volumes`, { ...common, name: 'image', parameters: image });
    const directory = String((await until(original, 'volumes/directory', 'Available')).handle);
    const imageFile = String((await until(original, 'volumes/image', 'Available')).handle);
    await writeFile(join(directory, 'precious'), 'bytes');
    await original.ok('POST', `${base}/snapshots`, { name: 's', source: { volume: 'directory' } });
    const snapshot = String((await until(original, 'snapshots/s', 'Ready')).handle);
    const before = await readFile(imageFile);
    await original.end('SIGTERM');
    const file = join(folder, 'store.backup');
    expect((await kedged(original.data, 'backup', file)).code).to.equal(0);
    await original.run();

    copy = await TestDaemon.start({
      bootstrap: false,
      prepare: async (data) => {
        await mkdir(data);
        await cp(join(original.data, 'kek'), join(data, 'kek'));
        const restored = await kedged(data, 'restore', file, '--as-copy');
        expect(restored.code, restored.stderr).to.equal(0);
        expect(restored.stdout).to.include('The store is a copy');
      },
    });
    copy.token = original.token;
    const roots = await readdir(join(original.data, 'volumes'));

    // Before any request for them.
    for (const kind of ['volumes', 'snapshots']) {
      const items = await copy.list(`${base}/${kind}`);
      const table = (await copy.cli('get', kind)).stdout;
      expect(
        table.match(/it belongs to cluster \S+, and this store is a copy/g),
        table,
      ).to.have.length(items.length);
    }
    const described = (await copy.cli('describe', 'snapshot', 's')).stdout;
    expect(described).to.match(/Next:\n {2}.*kedge delete snapshot\/s -n default/);

    // A foreign volume that is asked to grow waits and reports why.
    await copy.ok('POST', `${base}/volumes/directory:resize`, { size: '32Mi' });
    await eventually('the volume to be reported as foreign', async () => {
      const { body } = await copy.rest('GET', `${base}/volumes/directory`);
      return JSON.stringify(body).includes('and this store is a copy of that cluster');
    });
    // Objects created from them fail at once with that message, and their deletion removes them.
    await copy.ok('POST', `${base}/snapshots`, { name: 'later', source: { volume: 'directory' } });
    await copy.ok('POST', `${base}/snapshots/s:restore`, { volume: { name: 'restored' } });
    for (const path of ['snapshots/later', 'volumes/restored']) {
      const failed = await until(copy, path, 'Failed');
      expect(failed.failureMessage).to.include('and this store is a copy of that cluster');
      await copy.ok('DELETE', `${base}/${path}`);
    }
    const away = ['snapshots/later', 'volumes/restored'];
    for (const path of away)
      await eventually(`${path} to go`, async () => {
        return (await copy.rest('GET', `${base}/${path}`)).status === 404;
      });
    for (const path of ['snapshots/s', 'volumes/directory', 'volumes/image']) {
      await copy.ok('DELETE', `${base}/${path}`);
      await eventually(`${path} to go`, async () => {
        return (await copy.rest('GET', `${base}/${path}`)).status === 404;
      });
    }
    expect(await readdir(join(original.data, 'volumes'))).to.deep.equal(roots);
    expect(await readFile(join(directory, 'precious'), 'utf8')).to.equal('bytes');
    expect((await readFile(imageFile)).equals(before)).to.equal(true);
    expect((await stat(snapshot)).isDirectory()).to.equal(true);

    // The copy provisions its own volumes in its own storage root.
    await copy.ok('POST', `${base}/volumes`, { ...common, name: 'own' });
    const own = String((await until(copy, 'volumes/own', 'Available')).handle);
    expect(own.startsWith(copy.data)).to.equal(true);
    await copy.ok('DELETE', `${base}/volumes/own`);
    await eventually('its own volume to be deleted', async () => {
      return (await stat(own).catch(() => undefined)) === undefined;
    });
  });

  it('refuses the storage root of the original', async () => {
    await copy.end('SIGTERM');
    const elsewhere = await TestDaemon.start({
      bootstrap: false,
      environment: { KEDGE_STORAGE_LOCAL_VOLUME_ROOT: join(original.data, 'volumes') },
      prepare: (data) =>
        cp(copy.data, data, { recursive: true, filter: (p) => !/holder$/.test(p) }),
    });
    try {
      const { text } = {
        text: await (await fetch(`http://${elsewhere.opsAddress}/readyz`)).text(),
      };
      expect(text).to.include('StorageRootOfOtherCluster');
    } finally {
      await elsewhere.dispose();
    }
  });
});
