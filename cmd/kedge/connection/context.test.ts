import { expect } from 'chai';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StatusError } from 'kedge';
import { contextOfLogin, currentContext, readContexts, writeContext } from './context.js';

describe('the file of contexts', () => {
  const before = process.env['XDG_CONFIG_HOME'];
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-contexts-'));
    process.env['XDG_CONFIG_HOME'] = folder;
  });

  afterEach(async () => {
    if (before === undefined) delete process.env['XDG_CONFIG_HOME'];
    else process.env['XDG_CONFIG_HOME'] = before;
    await rm(folder, { recursive: true });
  });

  const writeInvalid = async (): Promise<string> => {
    await mkdir(join(folder, 'kedge'));
    const file = join(folder, 'kedge', 'config.yaml');
    await writeFile(file, 'contexts:\n  local: {token: kedge_hidden\n');
    return file;
  };

  it('that is not valid YAML is an error with its path and without its content', async () => {
    const file = await writeInvalid();
    const error: unknown = await readContexts().catch((refused: unknown) => refused);
    expect(error).to.be.instanceOf(StatusError).with.property('reason', 'ContextsUnusable');
    expect((error as StatusError).message)
      .to.contain(file)
      .and.not.contain('kedge_hidden');
  });

  it('is not needed if the environment has the server and the token', async () => {
    await writeInvalid();
    const saved = { server: process.env['KEDGE_SERVER'], token: process.env['KEDGE_TOKEN'] };
    try {
      Object.assign(process.env, { KEDGE_SERVER: 'host:1', KEDGE_TOKEN: 'kedge_given' });
      expect(await currentContext()).to.deep.equal({ server: 'host:1', token: 'kedge_given' });
    } finally {
      delete process.env['KEDGE_SERVER'];
      delete process.env['KEDGE_TOKEN'];
      if (saved.server !== undefined) process.env['KEDGE_SERVER'] = saved.server;
      if (saved.token !== undefined) process.env['KEDGE_TOKEN'] = saved.token;
    }
  });

  it('gives a login the server and the certificates of its context, and none to another server', async () => {
    const server = 'prod:1';
    await writeContext('prod', { server, token: 'kedge_old', cluster: 'c', caFile: '/ca.pem' });
    expect(await contextOfLogin('prod', {})).to.deep.equal({ server, caFile: '/ca.pem' });
    expect(await contextOfLogin('prod', { server, caFile: '/new.pem' })).to.deep.equal({
      ...{ server, caFile: '/new.pem' },
    });
    expect(await contextOfLogin('prod', { server: 'other:1' })).to.deep.equal({
      server: 'other:1',
    });
    expect(await contextOfLogin('constructor', {})).to.deep.equal({ server: '127.0.0.1:7863' });
  });
});
