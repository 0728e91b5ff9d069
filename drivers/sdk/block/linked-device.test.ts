import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DriverError } from '../errors/errors.js';
import type { NodeHost } from '../node/node-host.js';
import { thisNode } from '../node/this-node.js';
import { LinkedDevice } from './linked-device.js';

/** Page 0x80 as the kernel shows it: a header with the length, then the serial. */
function page80(serial: string): Buffer {
  return Buffer.concat([Buffer.from([0, 0x80, 0, serial.length]), Buffer.from(serial, 'latin1')]);
}

/** Page 0x83 with designators in ASCII, each with a header. */
function page83(...designators: readonly string[]): Buffer {
  const parts = designators.map((text) =>
    Buffer.concat([Buffer.from([2, 0, 0, text.length]), Buffer.from(text, 'latin1')]),
  );
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([0, 0x83, body.length >> 8, body.length & 0xff]), body]);
}

describe('the device of a volume, found by its link', () => {
  const serial = 'kedge-0f0e1c9a-6a1b-4c55-9d0c-2f8f4f1f9d11';
  let folder: string;
  let target: string | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-linked-'));
    target = '/dev/sda';
  });
  afterEach(() => rm(folder, { recursive: true }));

  const host: NodeHost = {
    ...thisNode,
    files: {
      ...thisNode.files,
      realPath: () => Promise.resolve(target),
      kindAt: (path) => Promise.resolve(path.startsWith('/dev/sd') ? 'blockDevice' : 'other'),
    },
  };
  const device = (wanted = serial, common: readonly string[] = []): LinkedDevice =>
    new LinkedDevice(
      { directory: '/by-id', host, blockDevices: folder },
      `link-${wanted}`,
      wanted,
      common,
    );
  const show = async (file: string, content: Buffer | string, name = 'sda'): Promise<void> => {
    await mkdir(join(folder, name, 'device'), { recursive: true });
    await writeFile(join(folder, name, 'device', file), content);
  };

  for (const [page, content] of [
    ['vpd_pg80', page80(serial)],
    ['vpd_pg83', page83(serial)],
    ['vpd_pg83', page83('QEMU    QEMU HARDDISK', serial)],
    ['vpd_pg83', page83(`DO      Volume          ${serial}`)],
    ['vpd_pg83', page83(`0DO_Volume_${serial}`)],
  ] as const)
    it(`is recognized by its serial in ${page}: ${content.toString('latin1').replaceAll(/[^!-~]+/g, ' ')}`, async () => {
      await show(page, content);
      await show('state', 'running\n');
      expect(await device().is('/dev/sda')).to.equal(true);
      expect(await device().isReady()).to.equal(true);
    });

  it('is named with the remedy if the volume is mounted: by its link if that is wrong, and by its state otherwise', async () => {
    const messageNow = async () => (await device().mountedUnready('volume 7')).message;
    await show('vpd_pg80', page80(serial));
    await show('state', 'offline\n');
    expect(await messageNow())
      .to.contain('/dev/sda is in state offline, not running')
      .and.contain('Stop the instances')
      .and.not.contain('udevadm');
    await show('state', 'running\n');
    expect(await messageNow()).to.contain('it was not ready before');
    await show('vpd_pg80', page80('kedge-other'));
    expect(await messageNow())
      .to.contain(`link-${serial} does not lead to`)
      .and.contain('udevadm');
    target = undefined;
    expect(await messageNow())
      .to.contain(`link-${serial} does not lead to`)
      .and.contain('udevadm');
  });

  it('is not a device with the serial of another volume, to which a stale link leads', async () => {
    for (const other of ['kedge-other', `${serial}0`, `x${serial}`, serial.slice(0, -1)]) {
      await show('vpd_pg80', page80(other));
      await show('vpd_pg83', page83(other));
      expect(await device().is('/dev/sda'), other).to.equal(false);
      expect(await device().isReady(), other).to.equal(false);
    }
  });

  it('is not found by a stale link, so that a release says nothing about the other volume', async () => {
    expect(await device().path()).to.equal('/dev/sda');
    await show('vpd_pg80', page80(serial));
    expect(await device().path()).to.equal('/dev/sda');
    await show('vpd_pg80', page80('kedge-other'));
    expect(await device().path()).to.equal(undefined);
    await show('vpd_pg80', page80('common'));
    expect(await device(serial, ['common']).path()).to.equal('/dev/sda');
  });

  it('does not take a short serial for the end of a longer one', async () => {
    for (const other of ['123', '1_234', '23 4']) {
      await show('vpd_pg80', page80(other));
      expect(await device('23').is('/dev/sda'), other).to.equal(other === '23 4');
    }
  });

  it('is not ready until the kernel has prepared it', async () => {
    await show('vpd_pg80', page80(serial));
    await show('state', 'created\n');
    const error = await device()
      .is('/dev/sda')
      .catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(DriverError);
    expect(error).to.include({ kind: 'Unavailable' });
    expect(await device().isReady()).to.equal(false);
    await show('state', 'running\n');
    expect(await device().isReady()).to.equal(true);
  });

  it('is ready once its link appears and leads to a block device', async () => {
    for (const [at, ready] of [
      [undefined, false],
      ['/tmp/file', false],
      ['/dev/sda', true],
    ] as const) {
      target = at;
      expect(await device().isReady(), String(at)).to.equal(ready);
    }
  });

  it('with the serial of all disks of the provider, is the device of the link', async () => {
    // A serial of NVMe is padded with spaces. Google's is the same for each persistent disk.
    await show('serial', `${'nvme_card-pd'.padEnd(20)}\n`);
    await show('serial', `${'nvme_card-pd'.padEnd(20)}\n`, 'sdb');
    await show('state', 'live\n');
    const google = device(serial, ['nvme_card-pd']);
    expect(await google.is('/dev/sda')).to.equal(true);
    expect(await google.isReady()).to.equal(true);
    expect(await google.is('/dev/sdb')).to.equal(false);
    expect(await device().is('/dev/sda'), 'of another provider').to.equal(false);
    await show('vpd_pg80', page80('kedge-other'));
    expect(await google.is('/dev/sda'), 'with a serial of its own').to.equal(false);
  });

  it('without a serial, is the device of the link', async () => {
    expect(await device().is('/dev/sda')).to.equal(true);
    expect(await device().is('/dev/sdb')).to.equal(false);
  });
});
