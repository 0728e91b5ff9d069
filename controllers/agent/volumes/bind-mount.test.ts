import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DriverError, type NodeHost, thisNode } from '@kedge/driver-sdk';
import { bindDirectory } from './bind-mount.js';
import { giveRoot } from './mount-owner.js';

describe('the bind mount of a volume', () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-bind-'));
    await writeFile(join(base, 'file'), '');
  });
  afterEach(() => rm(base, { recursive: true }));

  const { signal } = new AbortController();
  const refusal = (host: NodeHost, target: string): Promise<unknown> =>
    bindDirectory(host, {
      ...{ root: base, subPath: '', isOfHost: false, readOnly: false, target, signal },
    }).catch((thrown: unknown) => thrown);

  it('reports errors of the file system as errors of a driver', async () => {
    const host = { ...thisNode, mounts: () => Promise.resolve([]) };
    const error = await refusal(host, join(base, 'file/target'));
    expect(error).to.be.instanceOf(DriverError);
    expect(error).to.include({ kind: 'Unavailable' });
    expect(String(error)).to.contain('ENOTDIR');
    const broken = { ...thisNode, mounts: () => readFailure() };
    expect(await refusal(broken, join(base, 'target'))).to.include({ kind: 'Unavailable' });
    const claim = { name: 'v' };
    const mount = { name: 'v', claim, mountPath: '/v', fsUser: 1, subPath: 'x'.repeat(300) };
    const owner: unknown = await giveRoot(mount, { root: base, signal }).catch((e: unknown) => e);
    expect(owner, String(owner)).to.be.instanceOf(DriverError);
  });
});

function readFailure(): Promise<never> {
  return Promise.reject(Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' }));
}
