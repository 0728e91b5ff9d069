import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { FakeEngine, json } from '../../../testing/fake-engine.js';
import { EngineTransport } from './engine-transport.js';

describe('EngineTransport', () => {
  let engine: FakeEngine;
  let directory: string;
  beforeEach(async () => {
    engine = await FakeEngine.start();
    directory = await realpath(await mkdtemp(join(tmpdir(), 'kedge-transport-')));
  });
  afterEach(async () => {
    await engine.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('does not prevent that modules below linked packages are resolved', async () => {
    const store = join(directory, 'packages');
    await mkdir(store);
    for (const name of ['first', 'second']) await writeFile(join(store, `${name}.cjs`), '');
    await symlink(store, join(directory, 'linked'));
    const { resolve } = createRequire(join(directory, 'program.cjs'));
    // The loader caches the status of the folders above, and does not read it again.
    expect(resolve('./packages/first.cjs')).to.equal(join(store, 'first.cjs'));
    engine.answer = (_request, response) => json(response, 200, []);
    const transport = new EngineTransport(engine.socketPath, systemClock);
    const { signal } = new AbortController();
    expect(
      await transport.call({ method: 'GET', path: '/v1.41/images/json', signal }),
    ).to.deep.equal([]);
    expect(resolve('./linked/second.cjs')).to.equal(join(store, 'second.cjs'));
  });
});
