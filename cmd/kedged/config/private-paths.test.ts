import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { privatePaths } from './private-paths.js';

describe('the private paths outside the data directory', () => {
  let home: string;
  let before: string | undefined;

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'kedge-private-'));
    before = process.env['XDG_CONFIG_HOME'];
    process.env['XDG_CONFIG_HOME'] = home;
  });
  afterEach(async () => {
    if (before === undefined) delete process.env['XDG_CONFIG_HOME'];
    else process.env['XDG_CONFIG_HOME'] = before;
    await rm(home, { recursive: true });
  });

  it('are the tokens, the keys and the socket of the engine, which gives the rights of root', async () => {
    const config = { kekFile: '/k/kek', tlsKeyFile: '', dockerSocket: '/home/ann/docker.sock' };
    expect(await privatePaths(config)).to.deep.equal([
      join(home, 'kedge'),
      '/k/kek',
      '/home/ann/docker.sock',
    ]);
    // Workloads have a /run of their own.
    const usual = { ...config, dockerSocket: '/var/run/docker.sock' };
    expect(await privatePaths(usual)).to.deep.equal([join(home, 'kedge'), '/k/kek']);
    expect(await privatePaths({ ...usual, dockerSocket: '/run/docker.sock' })).to.have.lengthOf(2);
  });

  it('include the socket that a link leads to', async () => {
    const [socket, link] = [join(home, 'engine.sock'), join(home, 'docker.sock')];
    await writeFile(socket, '');
    await symlink('engine.sock', link);
    const paths = await privatePaths({ kekFile: '', tlsKeyFile: '', dockerSocket: link });
    expect(paths).to.deep.equal([join(home, 'kedge'), link, socket]);
  });
});
