import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { removeDuringLinkSwap } from '../conformance/link-swap.js';
import { thisNode } from './this-node.js';

describe('the removal of a directory with its content', () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-removal-'));
  });
  afterEach(() => rm(base, { recursive: true }));

  it('follows no link that a program which has the directory open puts there meanwhile', async () => {
    const own = join(base, 'volume');
    const remove = () => thisNode.files.remove(own);
    await removeDuringLinkSwap(own, join(base, 'victim'), remove);
    await remove();
    expect(existsSync(own)).to.equal(false);
  });
});
