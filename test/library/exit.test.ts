import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const child = fileURLToPath(new URL('exit-child.js', import.meta.url));

describe('everything that starts can be stopped', () => {
  it('after close no handle keeps the process alive, and await using closes in order', async function () {
    this.timeout(180_000);
    const directory = await mkdtemp(join(tmpdir(), 'kedge-exit-'));
    try {
      const options = { encoding: 'utf8', timeout: 120_000 } as const;
      const { stdout, stderr, signal } = spawnSync(process.execPath, [child, directory], options);
      expect(stderr).to.equal('');
      expect(signal, 'had to be killed').to.equal(null);
      expect(stdout.trim()).to.equal('closed');
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
