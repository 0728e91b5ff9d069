import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { unpackFixture } from '../../fixtures/unpack.js';
import { type Finished, finish, root, TestDaemon } from '../daemon.js';

const program = join(root, 'cmd/bin/kedged.mjs');

function kedged(data: string, ...args: string[]): Promise<Finished> {
  return finish(process.execPath, [program, ...args, '--data-directory', data]);
}

describe('kedged upgrade', function () {
  this.timeout(300_000);
  let data: string;
  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'kedge-upgrade-data-'));
  });
  afterEach(() => rm(data, { recursive: true, force: true }));

  it('--dry-run prints each change without applying it; upgrade then applies them', async () => {
    await unpackFixture('schema-2/daemon', data);
    for (const time of ['first', 'second']) {
      const planned = await kedged(data, 'upgrade', '--dry-run');
      expect(planned.code, planned.stderr).to.equal(0);
      expect(planned.stdout, time)
        .to.include('schema version 2; the first start of this release migrates it to version 3')
        .and.include(join(data, 'schema-2-copy'))
        .and.include('built-in objects')
        .and.include('Nothing was changed');
    }
    const done = await kedged(data, 'upgrade');
    expect(done.code, done.stderr).to.equal(0);
    expect(done.stderr).to.include('To go back:');
    const after = await kedged(data, 'upgrade', '--dry-run');
    expect(after.stdout).to.include('no migration is needed');
  });

  it('fails with exit code 1 without a store', async () => {
    const refused = await kedged(data, 'upgrade', '--dry-run');
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.include('contains no store');
  });

  it('refuses the directory of a running daemon and names the remedy', async () => {
    const daemon = await TestDaemon.start();
    try {
      const refused = await kedged(daemon.data, 'upgrade', '--dry-run');
      expect(refused.code).to.equal(1);
      expect(refused.stderr).to.include('in use by process').and.include('--as-copy');
    } finally {
      await daemon.end('SIGTERM');
    }
    const planned = await kedged(daemon.data, 'upgrade', '--dry-run');
    expect(planned.code, planned.stderr).to.equal(0);
    expect(planned.stdout).to.include('writes no built-in object');
    await daemon.dispose();
  });
});
