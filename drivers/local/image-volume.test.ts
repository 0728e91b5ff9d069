import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DriverError, memoryJournal, nodeHost } from '@kedge/driver-sdk';
import { ImageVolumes } from './image-volume.js';

describe('image volumes', () => {
  it('are not copied while their mounts are unknown', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-image-'));
    try {
      const image = join(folder, 'v.img');
      await writeFile(image, 'bytes');
      const ran: string[] = [];
      const images = new ImageVolumes(
        nodeHost((command) => {
          ran.push(command);
          return Promise.resolve({ exitCode: 1, stdout: '', stderr: 'losetup: cannot read /sys' });
        }),
        memoryJournal(),
      );
      const place = { uid: 'v', folder, directory: join(folder, 'v'), image };
      const { signal } = new AbortController();
      const refused = await images.snapshot(place, join(folder, 's.img'), signal).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(refused).to.be.instanceOf(DriverError);
      expect((refused as DriverError).message).to.contain('cannot read /sys');
      expect(ran).to.deep.equal(['losetup']);
      expect(await readdir(folder)).to.deep.equal(['v.img']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('are not created if a program is missing that they need later; the error names its package', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-image-'));
    try {
      const ran: string[] = [];
      const images = new ImageVolumes(
        nodeHost((command) => {
          ran.push(command);
          return Promise.resolve({ exitCode: 0, stdout: 'mkfs.ext4\nlosetup\n', stderr: '' });
        }),
        memoryJournal(),
      );
      const { signal } = new AbortController();
      const made = images.make(join(folder, 'v.img'), 1n, {}, signal);
      const refused: unknown = await made.catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(DriverError);
      expect((refused as DriverError).message)
        .to.contain('mkfs.ext4, losetup is not installed')
        .and.contain('package e2fsprogs, mount');
      expect(ran).to.deep.equal(['sh']);
      expect(await readdir(folder)).to.deep.equal([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
