import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { DataFiles } from './data-files.js';

async function refusal(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => '',
    (error: unknown) => String(error),
  );
}

describe('data files', () => {
  let base: string;
  let files: DataFiles;
  before(function () {
    if (existsSync('/dev/shm')) return;
    console.log('    skipped: there is no /dev/shm here, where files are in memory');
    this.skip();
  });
  beforeEach(async () => {
    base = await mkdtemp('/dev/shm/kedge-test-');
    files = new DataFiles(join(base, 'own'), join(base, 'data'));
    await files.open();
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  /** Returns the content of the files that a workload sees in a directory, by path. Follows links. */
  async function seen(directory: string, below = ''): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const name of await readdir(join(directory, below))) {
      if (below === '' && name.startsWith('..')) continue;
      const path = join(below, name);
      if ((await stat(join(directory, path))).isDirectory())
        Object.assign(found, await seen(directory, path));
      else found[path] = await readFile(join(directory, path), 'utf8');
    }
    return found;
  }

  it('that a workload has mounted are rewritten, but their directory is not created again', async () => {
    const at = files.at('owner', 'set');
    await files.write('owner', 'set', new Map([['d/e', 'first']]));
    expect(await files.rewrite('owner', 'set', new Map([['d/e', 'second']]))).to.equal('written');
    expect(await seen(at)).to.deep.equal({ 'd/e': 'second' });
    /** Another program removes the directory after the call has checked it. */
    class Removal extends Map<string, string> {
      override *[Symbol.iterator](): MapIterator<[string, string]> {
        rmSync(at, { recursive: true });
        yield ['d/e', 'third'];
      }
    }
    expect(await files.rewrite('owner', 'set', new Removal())).to.equal('absent');
    expect(existsSync(at)).to.equal(false);
    expect(await files.rewrite('owner', 'set', new Map([['d/e', 'fourth']]))).to.equal('absent');
    expect(existsSync(at)).to.equal(false);
  });

  it('have the content that was written last after any number of changes, and no earlier content is left', async () => {
    const paths = ['a', 'b.c', 'd/e', 'd/f/g', '_'];
    const version = fc.dictionary(fc.constantFrom(...paths), fc.string());
    await fc.assert(
      fc.asyncProperty(fc.array(version, { minLength: 1, maxLength: 4 }), async (versions) => {
        const at = files.at('owner', 'set');
        for (const content of versions) {
          await files.write('owner', 'set', new Map(Object.entries(content)));
          expect(await seen(at)).to.deep.equal({ ...content });
        }
        const hidden = (await readdir(at)).filter((name) => name.startsWith('..'));
        expect(hidden).to.have.length(2);
      }),
      { numRuns: 40 },
    );
  });

  it('a write that fails leaves the earlier files, and no part of its own', async () => {
    await files.write('owner', 'set', new Map([['key', 'old']]));
    const impossible = new Map([
      ['key', 'new'],
      ['key/below', 'x'],
    ]);
    expect(await refusal(files.write('owner', 'set', impossible))).to.match(/EEXIST|ENOTDIR/);
    expect(await seen(files.at('owner', 'set'))).to.deep.equal({ key: 'old' });
    const hidden = (await readdir(files.at('owner', 'set'))).filter((n) =>
      n.startsWith('..version'),
    );
    expect(hidden).to.have.length(1);
  });

  it('a write to a full file system leaves no part of its own, at whichever step it fails', async function () {
    const place = join(base, 'full');
    await mkdir(place);
    const outcomes = new Set<string>();
    for (let inodes = 2; inodes < 16; inodes += 1) {
      const mounted = spawnSync('mount', [
        ...['-t', 'tmpfs', '-o', `nr_inodes=${inodes}`, 'tmpfs', place],
      ]);
      if (mounted.status !== 0) {
        console.log('    skipped: no file system can be mounted here, which needs root');
        this.skip();
      }
      try {
        const small = new DataFiles(join(place, 'own'), join(base, 'data'));
        const failed = await refusal(
          small.open().then(() => small.write('owner', 'set', new Map([['key', 'x']]))),
        );
        outcomes.add(failed === '' ? 'written' : 'refused');
        const left = spawnSync('find', [place, '-name', '..version-*', '-o', '-name', '..data*']);
        if (failed !== '') {
          expect(failed, `${inodes} inodes`).to.contain('ENOSPC');
          // The link to a complete version may exist, without a name at the top of the set.
          if (!existsSync(join(small.at('owner', 'set'), '..data')))
            expect(String(left.stdout), `${inodes} inodes`).to.equal('');
        }
      } finally {
        spawnSync('umount', [place]);
      }
    }
    expect([...outcomes]).to.deep.equal(['refused', 'written']);
  });

  it('are readable for any user of their workload but no other of the node, and are removed with their owner', async () => {
    const umask = process.umask(0o077);
    try {
      await files.write('owner', 'set', new Map([['deep/down/key', 'value']]));
    } finally {
      process.umask(umask);
    }
    const set = files.at('owner', 'set');
    const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
    expect(await modeOf(join(set, 'deep/down/key'))).to.equal(0o444);
    for (const path of ['deep/down', 'deep', '..data', '.'])
      expect(await modeOf(join(set, path)), path).to.equal(0o755);
    expect(await modeOf(files.directory)).to.equal(0o700);
    expect(await files.owners()).to.deep.equal(['owner']);
    await files.close();
    expect(await files.owners()).to.deep.equal(['owner']);
    await files.remove('owner');
    await files.close();
    expect(await readdir(base)).to.deep.equal([]);
  });

  it('are written again into the same directory if parts of them were removed or replaced', async () => {
    const content = new Map([
      ['deep/key', 'value'],
      ['other', 'more'],
    ]);
    const set = files.at('owner', 'set');
    const remains = () => files.remainsOf('owner', 'set', [...content.keys()]);
    expect(await remains()).to.equal('absent');
    await files.write('owner', 'set', content);
    const { ino } = await stat(set);
    for (const path of [
      'deep',
      'other',
      '..data',
      '..data/other',
      '..data/deep',
      '..data/deep/key',
    ]) {
      expect(await remains()).to.equal('whole');
      await rm(join(set, path), { recursive: true });
      expect(await remains(), path).to.equal('incomplete');
      await files.write('owner', 'set', content);
      expect(await seen(set)).to.deep.equal(Object.fromEntries(content));
    }
    await rm(join(set, 'other'));
    await writeFile(join(set, 'other'), 'foreign');
    expect(await remains()).to.equal('incomplete');
    await files.write('owner', 'set', content);
    expect([await remains(), await seen(set)]).to.deep.equal([
      'whole',
      Object.fromEntries(content),
    ]);
    expect((await stat(set)).ino, 'the directory that a workload mounted').to.equal(ino);
  });

  for (const path of ['key', '..data', '..data.new', 'obsolete', '.'])
    for (const by of ['a link to other files', 'a directory'] as const)
      it(`are written again if ${path} is replaced by ${by}, and the others are untouched`, async () => {
        const content = new Map([['key', 'value']]);
        const set = files.at('owner', 'set');
        const other = join(base, 'other');
        await mkdir(other, { mode: 0o700 });
        await writeFile(join(other, 'key'), 'foreign');
        await files.write('owner', 'set', content);
        await rm(join(set, path), { recursive: true, force: true });
        if (by === 'a directory') await mkdir(join(set, path, 'deep'), { recursive: true });
        else await symlink(other, resolve(set, path));
        await files.write('owner', 'set', content);
        expect(await seen(set)).to.deep.equal({ key: 'value' });
        expect(await files.remainsOf('owner', 'set', ['key'])).to.equal('whole');
        expect(await readdir(other)).to.deep.equal(['key']);
        expect(await readFile(join(other, 'key'), 'utf8')).to.equal('foreign');
        expect((await stat(other)).mode & 0o777).to.equal(0o700);
        await rm(other, { recursive: true });
        await files.remove('owner');
      });

  it('are incomplete if a link leads to other files', async () => {
    const set = files.at('owner', 'set');
    const remains = () => files.remainsOf('owner', 'set', ['key']);
    for (const path of ['key', '..data', '.']) {
      await files.write('owner', 'set', new Map([['key', 'value']]));
      expect(await remains()).to.equal('whole');
      await rm(join(set, path), { recursive: true });
      await symlink(path === 'key' ? '/etc/passwd' : base, resolve(set, path));
      await writeFile(join(base, 'key'), 'foreign');
      expect(await remains(), path).to.equal(path === '.' ? 'absent' : 'incomplete');
    }
    await rm(join(base, 'key'));
    await files.remove('owner');
  });

  it('are below a folder that only the daemon can pass, also without a umask', async () => {
    const umask = process.umask(0);
    try {
      await files.write('owner', 'set', new Map([['key', 'value']]));
    } finally {
      process.umask(umask);
    }
    expect((await stat(files.at('owner', ''))).mode & 0o777).to.equal(0o700);
  });

  it('refuse a directory that is not in memory, or that another user can enter or replace', async () => {
    const disk = await mkdtemp(join(tmpdir(), 'kedge-test-'));
    try {
      const onDisk = (await stat(disk)).dev !== (await stat(base)).dev;
      const message = await refusal(new DataFiles(join(disk, 'own'), disk).open());
      if (!onDisk) console.log('    not checked: the temporary directory is in memory too');
      else expect(message).to.contain('is not in memory; mount a tmpfs at');
    } finally {
      await rm(disk, { recursive: true, force: true });
    }
    await mkdir(join(base, 'open'), { mode: 0o755 });
    await symlink(files.directory, join(base, 'link'));
    for (const name of ['open', 'link'])
      expect(await refusal(new DataFiles(join(base, name), base).open()), name).to.contain(
        'not a directory owned by the user of kedged',
      );
  });
});
