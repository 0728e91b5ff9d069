import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { nodeHolders } from './node-holders.js';

const descriptors = 10_000;
const opener = `
const { openSync } = require('node:fs');
for (let i = 0; i < ${descriptors}; i += 1) openSync('/dev/null', 'r');
openSync(process.argv[1], 'r');
console.log('open');
process.stdin.resume();
`;

describe('processes that hold a directory', function () {
  this.timeout(180_000);
  let directory: string;
  let child: ChildProcess | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-open-files-'));
  });
  afterEach(async () => {
    if (child && child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
    await rm(directory, { recursive: true });
  });

  it('a process with 10,000 descriptors is found by its last one, with few concurrent reads', async () => {
    const file = join(directory, 'last');
    await writeFile(file, '');
    child = spawn(process.execPath, ['-e', opener, file], { stdio: ['pipe', 'pipe', 'inherit'] });
    if (child.stdout) await once(child.stdout, 'data');
    let underWay = 0;
    let isDone = false;
    const look = (): void => {
      const reads = process.getActiveResourcesInfo().filter((name) => name === 'FSReqPromise');
      underWay = Math.max(underWay, reads.length);
      if (!isDone) setImmediate(look);
    };
    look();
    const found = await nodeHolders.holders({ directory });
    isDone = true;
    expect(found).to.deep.equal([{ type: 'files', pid: child.pid, command: 'node' }]);
    expect(underWay).to.be.within(1, 100);
  });
});
