import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

describe('private files outside the data directory', function () {
  this.timeout(180_000);
  /** Workloads see it, unlike directories of temporary files. */
  const parent = process.getuid?.() === 0 ? '/srv' : homedir();
  let keys: string;
  let daemon: TestDaemon;
  before(async () => {
    keys = await mkdtemp(join(parent, 'kedge-keys-'));
    await writeFile(join(keys, 'kek'), `${Buffer.alloc(32, 7).toString('base64')}\n`);
    daemon = await TestDaemon.start({
      arguments: ['--local'],
      parent,
      environment: { KEDGE_SECRETS_KEK_FILE: join(keys, 'kek') },
    });
  });
  after(async () => {
    await daemon.dispose();
    await rm(keys, { recursive: true });
  });

  it('are hidden from workloads: the token of the user, and the key-encryption key', async () => {
    const contexts = join(daemon.home, 'config/kedge/config.yaml');
    daemon.token = await eventually('the token', async () => {
      const text = await readFile(contexts, 'utf8').catch(() => '');
      return /token: (\S+)/.exec(text)?.[1];
    });
    const file = join(daemon.home, 'thief.yaml');
    const command = `cat ${contexts} ${keys}/kek; echo tried; exec sleep 600`;
    await writeFile(
      file,
      `kind: Service\nname: thief\nruntime: process\ncommand: [/bin/sh, -c, ${JSON.stringify(command)}]\n`,
    );
    expect(await daemon.cli('cast', file)).to.include({ code: 0 });
    const logs = await eventually('its output', async () => {
      const { stdout } = await daemon.cli('logs', 'thief-0');
      return stdout.includes('tried') ? stdout : undefined;
    });
    expect(logs)
      .to.not.contain(daemon.token)
      .and.not.contain(Buffer.alloc(32, 7).toString('base64'));
    const exec = await daemon.cli(
      'exec',
      'thief-0',
      '--',
      'ls',
      '-A',
      join(daemon.home, 'config/kedge'),
    );
    expect(exec).to.include({ code: 0, stdout: '' });
  });
});
