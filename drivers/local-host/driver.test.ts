import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  type CallContext,
  type DriverError,
  memoryOperations,
  type SynchronousDriver,
  synchronousDriver,
} from '@kedge/driver-sdk';
import { createLocalHostDriver } from './driver.js';
import { hostPathProblem } from './host-path.js';
import { isWithin } from './within.js';

describe('local-host driver', () => {
  let base: string;
  let allowed: string;
  let driver: SynchronousDriver;
  const context = (hostPath: string, createIfMissing = 'false'): CallContext => ({
    volume: { uid: 'u', name: 'data', namespace: 'default' },
    parameters: { hostPath, createIfMissing },
    node: 'n',
    signal: new AbortController().signal,
    operations: memoryOperations(),
  });
  const wanted = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
  const make = (allowCreateMissing: boolean, root = allowed) =>
    synchronousDriver(
      createLocalHostDriver({
        localVolumeRoot: '',
        hostPathAllowlist: [root],
        allowCreateMissing,
      }),
      () => Promise.resolve(),
    );

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-host-'));
    allowed = join(base, 'allowed');
    await mkdir(allowed);
    driver = make(true);
  });
  afterEach(() => rm(base, { recursive: true }));
  const kindOf = async (promise: Promise<unknown>) =>
    promise.then(
      () => 'ok',
      (e: unknown) => (e as DriverError).kind,
    );

  it('rule 6: hostPath is absolute, without .., under the allow-list on component boundaries', () => {
    const list = ['/data'];
    expect(hostPathProblem('/data', list)).to.equal(undefined);
    expect(hostPathProblem('/data/x', list)).to.equal(undefined);
    for (const path of ['data', '/data/../etc', '/database', '/', '/etc', '/data\0x'])
      expect(hostPathProblem(path, list), path).to.be.a('string');
    expect(hostPathProblem('/data', [])).to.contain('empty');
    expect(isWithin('/a/..b', '/a')).to.equal(true);
  });

  it('creates a missing directory only if requested and allowed', async () => {
    const path = join(allowed, 'a/b');
    expect(await kindOf(driver.provision({ ...context(path), ...wanted }))).to.equal(
      'InvalidParameters',
    );
    const strict = make(false);
    expect(await kindOf(strict.provision({ ...context(path, 'true'), ...wanted }))).to.equal(
      'InvalidParameters',
    );
    const { handle } = await driver.provision({ ...context(path, 'true'), ...wanted });
    expect(handle).to.equal(path);
    const rules = strict.validateParameters(
      { hostPath: path, createIfMissing: 'true' },
      { level: 'volume' },
    );
    expect(rules, 'ignored for an existing directory').to.deep.equal([]);
    const there = await strict.provision({ ...context(path, 'true'), ...wanted });
    expect(there.handle).to.equal(path);
    const missing = strict.provision({ ...context(join(allowed, 'c'), 'true'), ...wanted });
    expect(await kindOf(missing)).to.equal('InvalidParameters');
  });

  it('reports a directory that can not be created as Unavailable', async () => {
    // The kernel refuses new directories in sysfs.
    const made = make(true, '/sys').provision({ ...context('/sys/kedge', 'true'), ...wanted });
    expect(await kindOf(made)).to.equal('Unavailable');
  });

  it('reports a directory below /proc as Unavailable, where a recursive mkdir never ends', async function () {
    if (process.platform !== 'linux') this.skip();
    for (const root of ['/proc', '/'])
      for (const path of ['/proc/kedge', '/proc/kedge/a']) {
        const made = make(true, root).provision({ ...context(path, 'true'), ...wanted });
        expect(await kindOf(made)).to.equal('Unavailable');
      }
  });

  it('refuses a link out of the allow-list, also as a parent of a created directory', async () => {
    const outside = join(base, 'outside');
    await mkdir(outside);
    await symlink(outside, join(allowed, 'link'));
    for (const path of [join(allowed, 'link'), join(allowed, 'link/new')])
      expect(await kindOf(driver.provision({ ...context(path, 'true'), ...wanted }))).to.equal(
        'InvalidParameters',
      );
    expect(await readdir(outside)).to.deep.equal([]);
  });

  it('never deletes the data of the user', async () => {
    const { handle } = await driver.provision({ ...context(allowed), ...wanted });
    await writeFile(join(handle, 'x'), '');
    await driver.delete({ ...context(allowed), handle });
    expect(await readdir(allowed)).to.deep.equal(['x']);
  });

  it('refuses to attach if the real path has changed since the volume was provisioned', async () => {
    await mkdir(join(allowed, 'one'));
    await mkdir(join(allowed, 'two'));
    await symlink(join(allowed, 'one'), join(allowed, 'link'));
    const path = join(allowed, 'link');
    const { handle } = await driver.provision({ ...context(path), ...wanted });
    await rm(path);
    await symlink(join(allowed, 'two'), path);
    expect(await kindOf(driver.attach({ ...context(path), handle }))).to.equal('InvalidParameters');
  });
});
