import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DriverError } from '../errors/errors.js';
import { runCommand } from './run-command.js';

describe('a program that a driver runs', () => {
  const { signal } = new AbortController();

  it('resolves with its exit code and its output', async () => {
    const script = 'echo out; echo err >&2; exit 3';
    expect(await runCommand('sh', ['-c', script], signal)).to.deep.equal({
      exitCode: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  it('rejects with Timeout if it was aborted, regardless of its exit code', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-run-'));
    const ready = join(folder, 'ready');
    await runCommand('mkfifo', [ready], signal);
    const abort = new AbortController();
    const script = `trap "exit 3" TERM; echo ready >${ready}; while :; do sleep 0.05; done`;
    const failing = runCommand('sh', ['-c', script], abort.signal).catch((error: unknown) => error);
    await readFile(ready);
    abort.abort();
    expect(await failing)
      .to.be.instanceOf(DriverError)
      .and.to.include({ kind: 'Timeout' });
    await rm(folder, { recursive: true });
  });
});
