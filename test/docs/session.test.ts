import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';

describe('the recorded session of README.md', function () {
  this.timeout(180_000);

  it('matches a real daemon: the workload survives kill -9 without a restart', () => {
    const script = join(root, 'scripts/record-session.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script, '--check'], {
      cwd: root,
      encoding: 'utf8',
      timeout: 170_000,
    });
    expect(status, stderr).to.equal(0);
  });
});
