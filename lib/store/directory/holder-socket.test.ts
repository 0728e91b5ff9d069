import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { holdSocket } from './holder-socket.js';

/** Leaves a socket without a listener, as a killed process does. */
async function abandonSocket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  await rename(path, `${path}.kept`); // the close removes the path that it listened on
  await new Promise<void>((resolve) => server.close(() => resolve()));
  await rename(`${path}.kept`, path);
}

describe('socket of the holder', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'kedge-holder-')));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('is taken over from a killed process while modules below linked packages are loaded', async function () {
    if (process.platform !== 'linux') {
      console.log('      skipped: other systems have no socket of the holder');
      this.skip();
    }
    const store = join(directory, 'packages');
    await mkdir(store);
    for (const name of ['first', 'second']) await writeFile(join(store, `${name}.cjs`), '');
    await symlink(store, join(directory, 'linked'));
    const { resolve } = createRequire(join(directory, 'program.cjs'));
    // The loader caches the types of the folders above, and does not read them again.
    expect(resolve('./packages/first.cjs')).to.equal(join(store, 'first.cjs'));
    await abandonSocket(join(directory, 'holder'));
    const socket = await holdSocket(directory, 'this test');
    const resolved = resolve('./linked/second.cjs');
    await socket?.close();
    expect(resolved).to.equal(join(store, 'second.cjs'));
  });
});
