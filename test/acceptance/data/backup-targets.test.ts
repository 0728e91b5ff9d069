import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { verifyBackup } from 'kedge';
import { type Finished, finish, root, TestDaemon } from '../daemon.js';

/** The objects that the tests store before they interrupt a backup. */
const largeObjects = 60;
const objectBytes = 750_000;
const largeBytes = largeObjects * objectBytes;
const base = '/v1/namespaces/default';
const program = join(root, 'cmd/bin/kedged.mjs');
const kedge = join(root, 'cmd/bin/kedge.mjs');

describe('the file of a backup', function () {
  this.timeout(180_000);
  let folder: string;
  let daemon: TestDaemon;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-targets-'));
    daemon = await TestDaemon.start();
  });
  after(async () => {
    await daemon.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  const kedged = (...args: string[]): Promise<Finished> =>
    finish(process.execPath, [program, ...args, '--data-directory', daemon.data]);

  /**
   * A client that received a signal during its backup. A fast backup may be complete before the signal, and is
   * repeated. A stopped client continues with the data in the buffers of its connection, so most of the backup
   * must be missing.
   */
  async function signalledMidway(
    target: string,
    signal: NodeJS.Signals,
  ): Promise<{
    readonly child: ChildProcess;
    readonly ended: Promise<number | null>;
    readonly output: () => string;
  }> {
    for (;;) {
      await mkdir(target);
      const child = spawn(
        process.execPath,
        [kedge, 'admin', 'backup', join(target, 'store.backup')],
        { env: { ...process.env, ...daemon.cliEnvironment }, stdio: ['ignore', 'ignore', 'pipe'] },
      );
      let output = '';
      child.stderr.on('data', (text) => (output += String(text)));
      const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
      await eventually('the backup to be under way', async () => {
        const [name] = await readdir(target);
        return name !== undefined && (await stat(join(target, name))).size > 0;
      });
      child.kill(signal);
      if (signal === 'SIGKILL') await ended;
      const names = await readdir(target);
      const sizes = await Promise.all(
        names.map(async (name) => (await stat(join(target, name))).size),
      );
      const midway = signal === 'SIGKILL' || sizes.every((size) => size < largeBytes / 3);
      if (midway && !names.includes('store.backup')) return { child, ended, output: () => output };
      child.kill('SIGKILL');
      await ended;
      await rm(target, { recursive: true });
    }
  }

  it('a backup during 50 concurrent writers contains exactly the writes up to its revision', async () => {
    let writing = true;
    let written = 0;
    const writers = Array.from({ length: 50 }, async (_, writer) => {
      for (let n = 0; writing; n += 1) {
        await daemon.ok('POST', `${base}/configmaps`, { name: `w${writer}-${n}`, data: {} });
        written += 1;
      }
    });
    await eventually('writes', () => written > 300);
    const file = join(folder, 'cut.backup');
    const made = await daemon.cli('admin', 'backup', file);
    writing = false;
    await Promise.all(writers);
    expect(made.code, made.stderr).to.equal(0);
    const held = new Set<string>();
    const { revision } = await verifyBackup(file, ({ kind, object }) => {
      if (kind === 'Configmap') held.add(object.metadata.uid);
    });
    const all = await daemon.list(`${base}/configmaps`);
    const versions = all.map(({ metadata }) => {
      const { uid, resourceVersion } = metadata as { uid: string; resourceVersion: string };
      return { uid, revision: Number(resourceVersion.split(/\D/)[0]) };
    });
    const expected = versions.filter((version) => version.revision <= revision);
    expect(expected.length).to.be.greaterThan(300).and.below(versions.length);
    expect([...held].sort()).to.deep.equal(expected.map(({ uid }) => uid).sort());
  });

  it('a killed client leaves no backup, and the daemon continues', async () => {
    for (let n = 0; n < largeObjects; n += 1) {
      const data = { text: 'y'.repeat(objectBytes) };
      await daemon.ok('POST', `${base}/configmaps`, { name: `large${n}`, data });
    }
    const target = join(folder, 'target');
    const { ended } = await signalledMidway(target, 'SIGKILL');
    await ended;
    expect((await readdir(target)).filter((name) => !name.endsWith('.partial'))).to.deep.equal([]);
    const file = join(target, 'store.backup');
    const again = await daemon.cli('admin', 'backup', file);
    expect(again.code, again.stderr).to.equal(0);
    await verifyBackup(file);
  });

  it('a client that reads nothing does not delay the stop of the daemon, and gets no backup', async () => {
    const target = join(folder, 'slow');
    const { child, ended, output } = await signalledMidway(target, 'SIGSTOP');
    try {
      const before = performance.now();
      await daemon.end('SIGTERM');
      expect(performance.now() - before).to.be.below(45_000);
      child.kill('SIGCONT');
      expect(await ended).to.not.equal(0);
      expect(output()).to.not.equal('');
      expect(await readdir(target)).to.deep.equal([]);
    } finally {
      child.kill('SIGKILL');
      await daemon.end('SIGTERM');
      await daemon.run();
    }
  });

  it('only an existing backup can be replaced, and links are not followed', async () => {
    const key = join(daemon.data, 'kek');
    const before = await readFile(key);
    const link = join(folder, 'link');
    const precious = join(folder, 'precious');
    await writeFile(precious, 'bytes');
    await symlink(precious, link);
    for (const target of [key, link, folder, '/dev/null', precious]) {
      const refused = await daemon.cli('admin', 'backup', target);
      expect(refused.code, target).to.equal(5);
      expect(refused.stderr).to.include('only an existing backup can be replaced');
    }
    expect((await readFile(key)).equals(before)).to.equal(true);
    expect(await readFile(precious, 'utf8')).to.equal('bytes');
    expect((await stat('/dev/null')).isCharacterDevice()).to.equal(true);
    const file = join(folder, 'cut.backup');
    expect((await daemon.cli('admin', 'backup', file)).code).to.equal(0);
  });

  it('of a stopped daemon can not be in the data directory', async () => {
    const refused = await kedged('restore', join(folder, 'cut.backup'), '--replace');
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.include('in use by process');
    await daemon.end('SIGTERM');
    await symlink(daemon.data, join(folder, 'way'));
    const before = (await readdir(daemon.data)).sort();
    for (const command of ['backup', 'salvage'])
      for (const target of [join(daemon.data, 'restored'), join(folder, 'way', 'db', 'x.backup')]) {
        const result = await kedged(command, target);
        expect(result.code).to.equal(1);
        expect(result.stderr).to.include('is in the data directory');
      }
    expect((await readdir(daemon.data)).sort()).to.deep.equal(before);
    expect((await kedged('backup', join(folder, 'precious'))).stderr).to.include('is another file');
  });
});
