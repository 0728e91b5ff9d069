// Runs in a guest whose kernel has control groups of v2; see unified.test.ts.
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { conformedRuntimes } from '../conformed-runtimes.js';

const groups = '/sys/fs/cgroup';

describe('a guest', () => {
  // The guest has no bridges.
  conformedRuntimes({ network: 'none' }, async () => {
    expect(await readFile(join(groups, 'cgroup.controllers'), 'utf8')).to.match(
      /cpu.*memory.*pids/,
    );
  });
  after(() => {
    expect(readdirSync(groups), 'left groups').to.not.include('kedge');
  });
});
