import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  type CallContext,
  type DeniedPath,
  DriverError,
  memoryOperations,
  type SynchronousDriver,
  synchronousDriver,
} from '@kedge/driver-sdk';
import { deniedProblem } from './denied-path.js';
import { createLocalHostDriver } from './driver.js';

describe('paths that no local-host volume may reach', () => {
  const denied: DeniedPath[] = [{ path: '/var/lib/kedge', name: 'the data directory' }];
  let base: string;
  let driver: SynchronousDriver;

  /** A driver that allows everything below `base` except `base/data` and `base/run/engine.sock`. */
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-denied-'));
    for (const folder of ['data/mounts', 'run', 'free/own'])
      await mkdir(join(base, folder), { recursive: true });
    await writeFile(join(base, 'run/engine.sock'), '');
    driver = synchronousDriver(
      createLocalHostDriver({
        localVolumeRoot: '',
        hostPathAllowlist: [base],
        hostPathDenylist: [
          { path: join(base, 'data'), name: 'the data directory' },
          { path: join(base, 'run/engine.sock'), name: 'the socket of the engine' },
          { path: join(base, 'free/later/kek'), name: 'a key' },
        ],
        allowCreateMissing: true,
      }),
      () => Promise.resolve(),
    );
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  async function refusalOf(hostPath: string): Promise<string> {
    const context: CallContext = {
      volume: { uid: 'u', name: 'data', namespace: 'default' },
      parameters: { hostPath, createIfMissing: 'true' },
      node: 'n',
      signal: new AbortController().signal,
      operations: memoryOperations(),
    };
    const wanted = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
    try {
      await driver.provision({ ...context, ...wanted });
      return '';
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      expect(error.kind).to.equal('InvalidParameters');
      return error.message;
    }
  }

  it('a path that is, contains or lies in a denied one is refused by its text, on component boundaries', () => {
    const refused = {
      '/var/lib/kedge': 'is the data directory',
      '/var/lib/kedge/': 'is the data directory',
      '/var/lib': 'contains /var/lib/kedge, the data directory',
      '/': 'contains /var/lib/kedge',
      '/var/lib/kedge/volumes/a': 'lies in /var/lib/kedge',
      '/var/./lib//kedge': 'is the data directory',
    };
    for (const [path, words] of Object.entries(refused))
      expect(deniedProblem(path, denied), path).to.contain(words);
    for (const path of ['/var/lib/kedge2', '/var/lib/ked', '/srv'])
      expect(deniedProblem(path, denied), path).to.equal(undefined);
    expect(deniedProblem('/var/lib/kedge', denied)).to.equal(
      '"/var/lib/kedge" is the data directory, which no workload may reach; choose a directory that is used by workloads alone',
    );
  });

  it('admission names the parameter, its value and the remedy', () => {
    const [violation] = driver.validateParameters(
      { hostPath: join(base, 'run') },
      { level: 'volume' },
    );
    expect(violation?.key).to.equal('hostPath');
    expect(violation?.description).to.equal(
      `"${base}/run" contains ${base}/run/engine.sock, the socket of the engine, which no workload may reach; choose a directory that is used by workloads alone`,
    );
  });

  it('a link that leads to a denied directory, into it or around it is refused by its real path', async () => {
    const links = { data: 'is', 'data/mounts': 'lies in', run: 'contains', '.': 'contains' };
    for (const [to, relation] of Object.entries(links)) {
      const link = join(base, 'free', 'link');
      await symlink(join(base, to), link);
      expect(await refusalOf(link), to).to.match(
        new RegExp(`^hostPath ${link} resolves to "[^"]+" ${relation} `),
      );
      await rm(link);
    }
    await symlink(join(base, 'data'), join(base, 'free/into'));
    expect(await refusalOf(join(base, 'free/into/new'))).to.contain('lies in');
    expect(await refusalOf(join(base, 'free/own'))).to.equal('');
  });

  it('the real path of a denied link is denied too', async () => {
    await rm(join(base, 'run/engine.sock'));
    await mkdir(join(base, 'elsewhere'));
    await writeFile(join(base, 'elsewhere/real.sock'), '');
    await symlink(join(base, 'elsewhere/real.sock'), join(base, 'run/engine.sock'));
    expect(await refusalOf(join(base, 'elsewhere'))).to.contain('the socket of the engine');
  });

  it('a denied path that does not exist yet is refused with its future parents', async () => {
    expect(await refusalOf(join(base, 'free/later'))).to.contain('contains');
    expect(await refusalOf(join(base, 'free'))).to.contain('a key');
  });

  it('a bind mount of a denied directory, or of one that contains it, is recognized', async function () {
    if (process.getuid?.() !== 0) return this.skip();
    for (const from of ['data', '.']) {
      const target = join(base, 'free/own');
      const bound = spawnSync('mount', ['--bind', join(base, from), target]);
      expect(bound.status, String(bound.stderr)).to.equal(0);
      try {
        expect(await refusalOf(target), from).to.contain('which no workload may reach');
      } finally {
        spawnSync('umount', [target]);
      }
    }
  });

  it('a mount whose source lies in a denied directory is recognized by device and root, also below the path', async function () {
    if (process.getuid?.() !== 0) return this.skip();
    await mkdir(join(base, 'data/mounts/deep'));
    await mkdir(join(base, 'free/own/in'));
    await mkdir(join(base, 'other/deep'), { recursive: true });
    const target = join(base, 'free/own/in');
    const through = {
      'data/mounts': { in: 'lies in', 'in/deep': 'lies in', '.': 'lies in' },
      '.': { 'in/data/mounts': 'lies in', 'in/other/deep': '', in: 'contains', '.': 'contains' },
      other: { in: '', 'in/deep': '', '.': '' },
    };
    for (const [from, paths] of Object.entries(through)) {
      const bound = spawnSync('mount', ['--bind', join(base, from), target]);
      expect(bound.status, String(bound.stderr)).to.equal(0);
      try {
        for (const [path, relation] of Object.entries(paths)) {
          const refusal = await refusalOf(join(base, 'free/own', path));
          const context = `${from} at ${path}: ${refusal}`;
          if (relation === '') expect(refusal, context).to.equal('');
          else expect(refusal, context).to.match(new RegExp(`" (by a mount )?${relation} /`));
        }
      } finally {
        spawnSync('umount', [target]);
      }
      expect(await refusalOf(target)).to.equal('');
    }
  });

  it('a file is refused with its directory as the remedy', async () => {
    await writeFile(join(base, 'free/file'), '');
    expect(await refusalOf(join(base, 'free/file'))).to.equal(
      `hostPath ${base}/free/file is not a directory; name a directory, such as ${base}/free`,
    );
  });
});
