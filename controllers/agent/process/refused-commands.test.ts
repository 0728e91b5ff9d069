import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { ProcessRuntime } from './process-runtime.js';
import {
  commandIsDirectory,
  commandMissing,
  commandNotExecutable,
  commandNotFound,
  workingDirectoryMissing,
} from '../../messages/starts.js';

const id = '0f6cbd92-1c31-4a3a-9c0e-333333333333';

describe('a command that can not be started', () => {
  let base: string;
  let runtime: ProcessRuntime;
  before(async function () {
    base = await mkdtemp(join(tmpdir(), 'kedge-refused-'));
    const directory = join(base, 'data/instances');
    runtime = new ProcessRuntime({ directory, hiddenDirectories: [], clock: systemClock });
    const availability = await runtime.availability();
    if (availability.available) return;
    if (process.env.CI) throw new Error(`CI must run these: ${availability.message}`);
    console.log(`      skipped: ${availability.message}`);
    this.skip();
  });
  after(async () => {
    runtime.close();
    await rm(base, { recursive: true });
  });

  const ended = async (workingDir: string, ...command: string[]) => {
    await runtime.start({ id, command, env: {}, workingDir, mounts: [] });
    return eventually('the workload to end', async () => {
      const state = await runtime.observe(id);
      return state.state === 'exited' ? [state.exitCode, state.refused] : undefined;
    });
  };

  it('is reported with the reason, and a command that ran is not', async () => {
    const refusals = {
      'nosuch-program': [127, commandNotFound.format({ file: 'nosuch-program' })],
      '/nosuch/program': [127, commandMissing.format({ file: '/nosuch/program' })],
      '/etc/passwd': [126, commandNotExecutable.format({ file: '/etc/passwd' })],
      '/etc': [126, commandIsDirectory.format({ file: '/etc' })],
    };
    for (const [command, refusal] of Object.entries(refusals))
      expect(await ended('/', command)).to.deep.equal(refusal);
    const [code, why] = await ended('/nosuch', 'true');
    expect([code, why]).to.deep.equal([125, workingDirectoryMissing.format({ path: '/nosuch' })]);
    // A builtin of the shell is also found as a program.
    expect(await ended('/', 'printf', 'text')).to.deep.equal([0, undefined]);
    expect(await ended('/', 'sh', '-c', 'exit 127')).to.deep.equal([127, undefined]);
  });
});
