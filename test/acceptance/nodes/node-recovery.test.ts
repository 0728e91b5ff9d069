import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { directoryJournal, loopsOf, thawDevice, thisNode } from '@kedge/driver-sdk';
import { eventually } from 'kedge/testing';
import { cleanUp, requireDevices } from '../../drivers/devices.js';
import { TestDaemon } from '../daemon.js';

describe('the start of a daemon after a kill', function () {
  this.timeout(180_000);
  const { signal } = new AbortController();
  let folder: string;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-killed-'));
  });
  afterEach(() => cleanUp(folder));

  it('thaws, unmounts and detaches the states in the journal of the node', async () => {
    const uid = randomUUID();
    const image = join(folder, 'v.img');
    const target = join(folder, 'mounted');
    await mkdir(target);
    await writeFile(image, '');
    execFileSync('truncate', ['-s', '16M', image]);
    execFileSync('mkfs.ext4', ['-q', image]);
    const attach = ['--find', '--show', image];
    const device = execFileSync('losetup', attach, { encoding: 'utf8' }).trim();
    execFileSync('mount', [device, target]);
    execFileSync('fsfreeze', ['--freeze', target]);
    const daemon = await TestDaemon.start({
      prepare: async (data) => {
        const journal = directoryJournal(join(data, 'node-journal'));
        const done = (): Promise<void> => Promise.resolve();
        await journal.make({ type: 'loop', uid, file: image }, done);
        await journal.make({ type: 'mount', uid, target }, done);
        await journal.make({ type: 'freeze', uid, device }, done);
      },
    });
    try {
      expect(daemon.log).to.contain(
        'mounts, loop devices and freezes of a killed daemon were undone',
      );
      await eventually('the loop device to be detached', async () => {
        const left = await loopsOf(thisNode, image, signal);
        return left.length === 0;
      });
      expect(spawnSync('mountpoint', ['-q', target]).status).to.not.equal(0);
    } finally {
      await thawDevice(thisNode, device, signal);
      await daemon.dispose();
    }
  });
});
