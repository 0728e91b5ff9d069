import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { thisNode } from './this-node.js';

const count = 2_000;
/** Puts a link to $2 in the place of a directory in $1, once its first file is removed. */
const swap =
  'cd "$1"; echo ready; while [ -e many/0 ]; do :; done; mv many moved && ln -s "$2" many';

describe('the removal of a directory with its content', () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-removal-'));
  });
  afterEach(() => rm(base, { recursive: true }));

  it('follows no link that a program which has the directory open puts there meanwhile', async () => {
    const own = join(base, 'volume');
    const victim = join(base, 'victim');
    for (const folder of [join(own, 'many'), victim]) {
      mkdirSync(folder, { recursive: true });
      for (let n = 0; n < count; n += 1) writeFileSync(join(folder, String(n)), '');
    }
    const accomplice = spawn('/bin/sh', ['-c', swap, 'sh', own, victim], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const gone = once(accomplice, 'exit');
    await once(accomplice.stdout, 'data');
    // It fails where the link is in its way.
    await thisNode.files.remove(own).catch(() => undefined);
    await gone;
    expect(readdirSync(victim)).to.have.length(count);
    await thisNode.files.remove(own);
    expect(existsSync(own)).to.equal(false);
  });
});
