import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { ownerFile, ownerOf, sweepAbandonedDataFiles } from './abandoned-data-files.js';

describe('abandoned data files', () => {
  let base: string;
  const folder = (digit: string): string => join(base, `kedge-${digit.repeat(16)}`);
  before(function () {
    if (existsSync('/dev/shm')) return;
    console.log('    skipped: there is no /dev/shm here, where files are in memory');
    this.skip();
  });
  beforeEach(async () => {
    base = await mkdtemp('/dev/shm/kedge-test-');
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  async function make(digit: string, owner: unknown): Promise<void> {
    await mkdir(join(folder(digit), 'uid'), { recursive: true });
    await writeFile(join(folder(digit), 'uid', 'key'), 'value');
    if (owner !== undefined) await writeFile(join(folder(digit), ownerFile), JSON.stringify(owner));
  }
  const gone = async () => ownerOf(join(base, 'no-such-data-directory'));

  it('are removed only when their owner is known, of this mount namespace, and has no data directory', async () => {
    await make('0', await gone());
    await make('1', await gone());
    await make('2', await ownerOf(base));
    await make('3', { ...(await gone()), mountNamespace: 'mnt:[1]' });
    await make('4', undefined);
    await make('5', 'nonsense');
    await make('6', { dataDirectory: 7, mountNamespace: (await gone()).mountNamespace });
    await mkdir(join(base, 'kedge-other'));
    expect(await sweepAbandonedDataFiles(folder('0'))).to.deep.equal([folder('1')]);
    expect((await readdir(base)).sort()).to.deep.equal(
      ['0', '2', '3', '4', '5', '6'].map((d) => `kedge-${d.repeat(16)}`).concat('kedge-other'),
    );
  });

  it('are kept while a process has one of them mounted', async function () {
    const probe = spawnSync('unshare', ['--mount', 'true']);
    if (probe.status !== 0) {
      console.log('    skipped: mounting needs root and util-linux');
      this.skip();
    }
    await make('1', await gone());
    await mkdir(join(base, 'target'));
    const script = `mount --bind ${folder('1')}/uid ${base}/target && echo up && read -r _`;
    const child = spawn('unshare', ['--mount', 'sh', '-c', script]);
    let output = '';
    child.stdout.on('data', (data) => (output += String(data)));
    await eventually('the mount', () => output.includes('up'));
    expect(await sweepAbandonedDataFiles(folder('0'))).to.deep.equal([]);
    const ended = new Promise((resolve) => child.on('close', resolve));
    child.stdin.end('\n');
    await ended;
    expect(await sweepAbandonedDataFiles(folder('0'))).to.deep.equal([folder('1')]);
  });
});
