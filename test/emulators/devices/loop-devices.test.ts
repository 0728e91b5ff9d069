import { execFileSync } from 'node:child_process';
import { mkdtemp, open, readlink, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { cleanUp, requireDevices } from '../../drivers/devices.js';
import { ask, type Answer } from '../core/client.js';
import type { Emulator } from '../core/emulator.js';
import { createEmulator } from '../index.js';
import { LoopDevices } from './loop-devices.js';

const gib = 2 ** 30;
const droplet = 3_164_444;

describe('the loop devices of an emulator', function () {
  this.timeout(180_000);
  let folder: string;
  let byId: string;
  let clock: FakeClock;
  let devices: LoopDevices;
  let emulator: Emulator;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-emulator-'));
    byId = join(folder, 'by-id');
    clock = new FakeClock();
    const deviceDirectory = (name: string) => (name === 'here' ? byId : undefined);
    devices = new LoopDevices({ directory: folder, deviceDirectory, clock });
    const instances = ['here', 'there'].map((name) => ({ name, place: 'fra1' }));
    ({ emulator } = createEmulator({ provider: 'cloud1', instances, clock, devices }));
  });
  afterEach(async () => {
    await emulator.close();
    await cleanUp(folder);
  });

  const post = (path: string, body: unknown): Promise<Answer> =>
    ask(emulator, { call: `POST ${path}`, body });
  const made = async (name: string, more: object = {}): Promise<string> => {
    const order = { name, region: 'fra1', size_gigabytes: 1, ...more };
    return ((await post('/v2/volumes', order)).body['volume'] as { id: string }).id;
  };
  const act = async (id: string, body: object): Promise<void> => {
    expect((await post(`/v2/volumes/${id}/actions`, body)).status).to.equal(202);
    await clock.advance(1_000);
    await emulator.settle();
  };
  const attach = (id: string, to = droplet) => act(id, { type: 'attach', droplet_id: to });
  const detach = (id: string) => act(id, { type: 'detach', droplet_id: droplet });
  const link = (name: string) => join(byId, `scsi-0DO_Volume_${name}`);
  const sizeOf = (device: string) =>
    Number(execFileSync('blockdev', ['--getsize64', device], { encoding: 'utf8' }));
  const beginOf = async (device: string): Promise<string> => {
    const file = await open(device);
    const { buffer } = await file.read(Buffer.alloc(5), 0, 5, 0);
    await file.close();
    return buffer.toString();
  };
  const absent = (path: string) =>
    readlink(path).then(
      () => false,
      () => true,
    );

  it('keep the bytes of a volume through detach, attach, growth and a snapshot', async () => {
    const id = await made('a');
    await attach(id);
    await writeFile(link('a'), 'first');
    await detach(id);
    expect(await absent(link('a'))).to.equal(true);
    await attach(id);
    expect(await beginOf(link('a'))).to.equal('first');
    await act(id, { type: 'resize', size_gigabytes: 2 });
    expect(sizeOf(link('a'))).to.equal(2 * gib);
    const { body } = await post(`/v2/volumes/${id}/snapshots`, { name: 's' });
    await writeFile(link('a'), 'later');
    const snapshot = (body['snapshot'] as { id: string }).id;
    const copy = await made('b', { snapshot_id: snapshot });
    await attach(copy);
    expect(await beginOf(link('b'))).to.equal('first');
    expect(sizeOf(link('b'))).to.equal(2 * gib);
  });

  it('leave nothing behind', async () => {
    const before = await emulator.inventory();
    const id = await made('a');
    await attach(id);
    expect(await emulator.inventory()).to.have.members([
      ...[`volume ${id} a`, `attached ${id} to here`, `image of volume ${id}`],
      ...[`device of ${id}`, 'link scsi-0DO_Volume_a'],
    ]);
    await detach(id);
    await ask(emulator, { call: `DELETE /v2/volumes/${id}` });
    expect(await emulator.inventory()).to.deep.equal(before);
  });

  it('have a link that comes late, on the clock', async () => {
    devices.setLinks({ type: 'late', ms: 5_000 });
    await attach(await made('a'));
    await clock.advance(4_999);
    expect(await absent(link('a'))).to.equal(true);
    await clock.advance(1);
    while (await absent(link('a'))) await new Promise(setImmediate);
    expect(sizeOf(link('a'))).to.equal(gib);
  });

  it('have no link, until it is healed', async () => {
    devices.setLinks({ type: 'never' });
    await attach(await made('a'));
    await clock.advance(3_600_000);
    expect(await absent(link('a'))).to.equal(true);
    await devices.heal();
    expect(sizeOf(link('a'))).to.equal(gib);
  });

  it('have a link to another device, until it is healed', async () => {
    const other = await made('b', { size_gigabytes: 3 });
    await attach(other);
    devices.setLinks({ type: 'wrong', of: other });
    await attach(await made('a'));
    expect(sizeOf(link('a'))).to.equal(3 * gib);
    devices.setLinks({ type: 'wrong' });
    await attach(await made('c'));
    expect(sizeOf(link('c'))).to.equal(8 * 2 ** 20);
    await devices.heal();
    expect([sizeOf(link('a')), sizeOf(link('c'))]).to.deep.equal([gib, gib]);
  });

  it('have a link that stays after the detach', async () => {
    devices.keepStaleLinks(true);
    const id = await made('a');
    await attach(id);
    await detach(id);
    expect(await absent(link('a'))).to.equal(false);
    expect((await emulator.inventory()).filter((one) => one.startsWith('device'))).to.deep.equal(
      [],
    );
  });

  it('appear only on the machine of their instance', async () => {
    const id = await made('a');
    await attach(id, droplet + 1);
    expect(await emulator.inventory()).to.include(`attached ${id} to there`);
    expect(await absent(link('a'))).to.equal(true);
    expect((await stat(devices.image(id))).blocks, 'a sparse file').to.equal(0);
  });
});
