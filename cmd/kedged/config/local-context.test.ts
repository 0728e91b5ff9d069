import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type EmbeddedStore, MemoryEngine, openStore } from 'kedge';
import { readContexts, writeContext } from '../../kedge/connection/context.js';
import { ensureLocalContext, firstAccess, isLocalCurrent } from './local-context.js';

const addresses = { server: '127.0.0.1:7863', restServer: 'http://127.0.0.1:7861' };

describe('the context of a local daemon', () => {
  const before = process.env['XDG_CONFIG_HOME'];
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-context-'));
    process.env['XDG_CONFIG_HOME'] = folder;
  });
  afterEach(async () => {
    if (before === undefined) delete process.env['XDG_CONFIG_HOME'];
    else process.env['XDG_CONFIG_HOME'] = before;
    await rm(folder, { recursive: true });
  });

  const started = async (store: EmbeddedStore, at = addresses): Promise<string> => {
    await firstAccess(store, at);
    return ensureLocalContext(store.clusterId, at);
  };
  const local = async () => (await readContexts()).contexts['local'];
  const opened = (): Promise<EmbeddedStore> => openStore({ engine: new MemoryEngine() });

  it('has the token of the data directory that was started last, in any order', async () => {
    const stores = [await opened(), await opened(), await opened()];
    const tokens: (string | undefined)[] = [];
    for (const store of stores) {
      expect(await started(store)).to.equal('kept');
      tokens.push((await local())?.token);
    }
    expect(new Set(tokens)).to.have.length(3);
    for (const n of [0, 2, 1, 0]) {
      expect(await started(stores[n]!)).to.equal('kept');
      expect((await local())?.token).to.equal(tokens[n]);
      expect((await readContexts()).current).to.equal('local');
    }
    expect(Object.keys((await readContexts()).contexts)).to.have.length(3);
  });

  it('follows a changed port, and only for its own cluster', async () => {
    const [one, other] = [await opened(), await opened()];
    await started(one);
    await started(other, { ...addresses, server: '127.0.0.1:9000' });
    await started(one, { ...addresses, server: '127.0.0.1:9001' });
    expect((await local())?.server).to.equal('127.0.0.1:9001');
    const servers = Object.values((await readContexts()).contexts).map(({ server }) => server);
    expect(servers).to.have.members(['127.0.0.1:9000', '127.0.0.1:9001']);
  });

  it('is uncertain for a daemon without one, if it was stored for another cluster, and missing without any', async () => {
    expect(await ensureLocalContext('copy', addresses)).to.equal('missing');
    await started(await opened());
    const stored = await readContexts();
    expect(await ensureLocalContext('copy', { ...addresses, server: 'x:1' })).to.equal('uncertain');
    expect(await readContexts()).to.deep.equal(stored);
  });

  it('of an earlier release, without a cluster, is used, and its address follows the daemon', async () => {
    await writeContext('local', { ...addresses, token: 'kedge_a_b' });
    expect(await ensureLocalContext('c', { ...addresses, server: 'x:1' })).to.equal('kept');
    expect(await local()).to.include({ token: 'kedge_a_b', server: 'x:1' });
  });

  it('stays behind another one that the user chose, and the daemon can say so', async () => {
    const store = await opened();
    await started(store);
    expect(await isLocalCurrent()).to.equal(true);
    await writeContext('prod', { server: 'prod:1', token: 'kedge_a_b' });
    expect(await started(store)).to.equal('kept');
    expect((await readContexts()).current).to.equal('prod');
    expect(await isLocalCurrent()).to.equal(false);
  });
});
