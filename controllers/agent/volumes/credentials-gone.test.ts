import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { RecordingLogger, settle } from 'kedge/testing';
import { volumes } from '../../volume/kind.js';
import { Sealer } from '../../secret/index.js';
import { instanceOf, StorageWorld } from '../../testing/storage-world.js';
import { UsedParameters } from './used-parameters.js';

const withToken = { parameters: { token: 'secret:token/key' } };
const mount = { name: 'd', mountPath: '/d', claim: { name: 'v' } };
const key = { namespace: 'default', name: 'v' };

describe('a claim on a volume whose credential was deleted', () => {
  let world: StorageWorld;
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-used-'));
    const sealer = new Sealer(randomBytes(32));
    const logger = new RecordingLogger();
    const used = (): UsedParameters => new UsedParameters({ directory, sealer, logger });
    world = await StorageWorld.start({ used });
    await world.writeSecret('token', 'value');
    await world.createVolume(withToken);
  });
  afterEach(async () => {
    await world.stop();
    await rm(directory, { recursive: true });
  });

  const reserve = async (): Promise<void> => {
    const attachments = [{ claim: 'default/s', node: 'n', state: 'Reserved' as const }];
    await world.store.updateStatus(volumes, key, { attachments });
    await settle();
  };

  it('reserves nothing before an attach, and is released without the credential', async () => {
    await world.deleteSecret('token');
    const outcome = await world.volumeManager.ensure(instanceOf('s'), mount);
    expect(outcome).to.include({ type: 'waiting', reason: 'InvalidParameters', retry: true });
    expect((await world.volume())?.attachments ?? []).to.deep.equal([]);
    expect((await world.volume())?.lastOperation).to.include({ call: 'attach' });
    await world.volumeManager.releaseAll('default/s');
    expect(world.driver.calls).to.deep.equal(['provision']);
    await world.writeSecret('token', 'again');
    const later = await world.volumeManager.ensure(instanceOf('s'), mount);
    expect(later.type).to.equal('mounted');
  });

  it('is released during its staging, before the cache contains the reservation', async () => {
    const arriving = world.volumeManager.ensure(instanceOf('s'), mount);
    // The staging is in progress, but the volume is not reserved yet.
    for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
    expect((await world.volume())?.attachments ?? []).to.deep.equal([]);
    await world.volumeManager.releaseAll('default/s');
    await arriving;
    expect((await world.volume())?.attachments ?? []).to.deep.equal([]);
    expect(await world.volume()).to.include({ status: 'Available' });
  });

  it('is released where an earlier version reserved first, also after a restart', async () => {
    for (const restart of [false, true]) {
      await world.deleteSecret('token');
      await reserve();
      if (restart) await world.restart();
      await world.volumeManager.releaseAll('default/s');
      expect((await world.volume())?.attachments).to.deep.equal([]);
      expect(await world.volume()).to.include({ status: 'Available' });
      await world.writeSecret('token', 'value');
    }
    expect(world.driver.calls).to.deep.equal(['provision']);
  });

  it('is released with the credential of the attempt if the attach may have started', async () => {
    world.driver.failsOn = { attach: 'Unavailable' };
    await world.volumeManager.ensure(instanceOf('s'), mount);
    expect((await world.volume())?.attachments?.[0]).to.include({ state: 'Reserved' });
    expect(await readdir(directory)).to.have.length(1);
    await world.deleteSecret('token');
    await world.restart();
    await world.volumeManager.releaseAll('default/s');
    expect(world.driver.tokenOf('detach')).to.equal('value');
    expect((await world.volume())?.attachments).to.deep.equal([]);
  });

  it('waits for the credential if it is attached and no credential was stored', async () => {
    await world.volumeManager.ensure(instanceOf('s'), mount);
    await world.deleteSecret('token');
    await rm(join(directory, (await world.volume())?.metadata.uid ?? ''));
    await world.restart();
    const failure = await world.volumeManager.releaseAll('default/s').catch((e: unknown) => e);
    expect(String(failure)).to.contain('secret default/token does not exist');
    expect((await world.volume())?.attachments).to.have.length(1);
    await world.writeSecret('token', 'again');
    await world.volumeManager.releaseAll('default/s');
    expect(world.driver.tokenOf('detach')).to.equal('again');
  });

  it("is not attached if its credential can't be stored for the detach", async () => {
    await rm(directory, { recursive: true });
    const { writeFile, mkdir } = await import('node:fs/promises');
    await writeFile(directory, 'not a directory');
    const outcome = await world.volumeManager.ensure(instanceOf('s'), mount);
    expect(outcome).to.include({ type: 'waiting', retry: true });
    expect(world.driver.calls).to.not.include('attach');
    await rm(directory);
    await mkdir(directory);
    const later = await world.volumeManager.ensure(instanceOf('s'), mount);
    expect(later.type).to.equal('mounted');
  });
});
