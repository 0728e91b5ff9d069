import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../../acceptance/daemon.js';
import { requireEngine } from '../engine.js';
import { seed } from '../../fixtures/seed.js';

const spec = 'test/dist/containers/unified/runtimes-in-guest.js';
/**
 * The guest is slow: CI runs the limits of the runtime that the seed selects in it. `npm run soak -- unified` runs the
 * whole conformance suite of processes and the limits of containers.
 */
const isWhole = process.env['KEDGE_UNIFIED'] === 'all';
const sampled = seed % 2 === 0 ? 'processes' : 'containers';
const grep = isWhole ? 'processes|limit' : `${sampled}.*limit`;
const testsMin = isWhole ? 28 : 5;
const size = isWhole ? 'processes and containers' : `${sampled}, of processes and containers`;

describe(`control groups of v2: ${size}, seed ${seed}`, function () {
  this.timeout(600_000);
  let folder: string;

  before(async function () {
    requireEngine(this);
    const why =
      process.getuid?.() !== 0
        ? 'the guest needs root'
        : spawnSync('sh', ['-c', 'command -v linux.uml']).status !== 0
          ? 'linux.uml is not installed (package user-mode-linux)'
          : spawnSync('sh', ['-c', 'command -v cc']).status !== 0 &&
            'cc is not installed (packages gcc and libc6-dev)';
    if (why !== false) {
      if (process.env['CI'] && process.arch === 'x64') throw new Error(why);
      console.log(`skipped: ${why}`);
      this.skip();
    }
    folder = await mkdtemp(join(tmpdir(), 'kedge-guest-'));
  });
  after(async () => {
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  it('limit workloads, kill all of their processes and report changes, under a kernel that has them', async () => {
    const init = join(root, 'test/containers/unified/guest.sh');
    const shim = join(folder, 'wide-registers.so');
    const source = join(root, 'test/containers/unified/wide-registers.c');
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', shim, source, '-ldl']);
    const guest = spawn(
      'linux.uml',
      [
        ...['mem=2048M', 'rootfstype=hostfs', 'rootflags=/', 'ro', 'quiet', `init=${init}`],
        ...['con=null', 'con0=fd:0,fd:1', 'umid=guest', `uml_dir=${folder}/`],
        ...[`kedge.directory=${root}`, `kedge.spec=${spec}`, `kedge.grep=${grep}`],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, LD_PRELOAD: shim } },
    );
    let output = '';
    for (const stream of [guest.stdout, guest.stderr])
      stream.on('data', (data) => (output += String(data)));
    await once(guest, 'close');
    expect(/guest ended with 0\b/.test(output), output).to.equal(true);
    const [, passed] = /(\d+) passing/.exec(output) ?? [];
    expect(Number(passed), output).to.be.at.least(testsMin);
    console.log(`      ${passed} tests in the guest`);
  });
});
