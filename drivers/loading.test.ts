import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { builtinDrivers } from './index.js';

describe('loading of a driver', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'kedge-loading-')));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('resolves linked packages also after the removal of a volume with a socket', async () => {
    const [store, volume] = [join(directory, 'packages'), join(directory, 'volume')];
    for (const folder of [store, volume]) await mkdir(folder);
    for (const name of ['first', 'second']) await writeFile(join(store, `${name}.cjs`), '');
    await symlink(store, join(directory, 'linked'));
    const { resolve } = createRequire(join(directory, 'program.cjs'));
    // The loader caches the types of the folders above, and does not read them again.
    expect(resolve('./packages/first.cjs')).to.equal(join(store, 'first.cjs'));
    const settings = {
      localVolumeRoot: '/nowhere',
      hostPathAllowlist: [],
      allowCreateMissing: false,
    };
    const drivers = builtinDrivers(settings);
    const server = createServer();
    await new Promise<void>((listening) => server.listen(join(volume, 'database.sock'), listening));
    await rm(volume, { recursive: true });
    const driver = drivers.get('local');
    const resolved = resolve('./linked/second.cjs');
    server.close();
    await driver;
    expect(resolved).to.equal(join(store, 'second.cjs'));
  });
});
