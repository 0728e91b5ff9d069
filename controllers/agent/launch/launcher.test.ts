import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { type LaunchRequest, Launcher } from './launcher.js';

const script = fileURLToPath(new URL('../../../agent/supervisor/launch.cjs', import.meta.url));

describe('the launcher of supervisors', () => {
  let base: string;
  let logFile: string;
  let launcher: Launcher;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-launcher-'));
    logFile = join(base, 'output.log');
    await writeFile(logFile, 'before\n');
    launcher = new Launcher(script);
  });
  afterEach(async () => {
    launcher.close();
    await rm(base, { recursive: true });
  });

  const shell = (text: string, more: Partial<LaunchRequest> = {}): LaunchRequest => ({
    files: [],
    args: ['-c', text],
    env: {},
    logFile,
    ...more,
  });
  const log = async (): Promise<string> => readFile(logFile, 'utf8');
  /** Runs a shell script in a launched process. Returns the pid of its parent process. */
  const parentOf = async (text: string): Promise<number> => {
    await (await launcher.launch(shell(`echo "parent $PPID"; ${text}`))).ended;
    return Number(/parent (\d+)/.exec(await log())?.[1]);
  };

  it('starts one in another process, with only its environment, and reports its exit code', async () => {
    const env = { A: `a 'b'\n"c"` };
    const { ended } = await launcher.launch(shell('echo "$PPID $A"; env >&2; exit 3', { env }));
    expect(await ended).to.equal(3);
    const [, parent = '', ...lines] = (await log()).split(/\n| /);
    expect(Number(parent)).to.be.above(1).and.not.equal(process.pid);
    expect(lines.join(' ')).to.contain(`a 'b' "c"`);
    expect(await log()).to.not.contain('NODE_CHANNEL');
  });

  it('writes the files first', async () => {
    const path = join(base, 'input');
    const files = [{ path, text: 'written' }];
    await (await launcher.launch(shell(`cat ${path}`, { files }))).ended;
    expect(await log()).to.equal('before\nwritten');
  });

  it('reports why one can not be started, and starts the next', async () => {
    const refusal = async (request: LaunchRequest): Promise<string> =>
      launcher.launch(request).then(
        () => 'started',
        (error: Error) => error.message,
      );
    expect(await refusal(shell('echo \0'))).to.contain('null bytes');
    const long = 'x'.repeat(3_000_000);
    expect(await refusal(shell('true', { env: { LONG: long } }))).to.contain('E2BIG');
    expect(await refusal(shell('true', { logFile: base }))).to.contain('EISDIR');
    execFileSync('ln', ['-s', logFile, join(base, 'link')]);
    expect(await refusal(shell('true', { logFile: join(base, 'link') }))).to.contain('ELOOP');
    expect(await refusal(shell('true'))).to.equal('started');
  });

  it('reports that its process was killed, and starts the next one in a new process', async () => {
    const first = await parentOf('true');
    const { ended } = await launcher.launch(shell('exec sleep 600 & echo "child $!"; wait'));
    const child = await eventually('the child', async () => /child (\d+)/.exec(await log())?.[1]);
    try {
      process.kill(first, 'SIGKILL');
      expect(await ended).to.equal(null);
      // Supervisors that it started keep running.
      process.kill(Number(child), 0);
    } finally {
      execFileSync('kill', ['-9', child]);
    }
    await writeFile(logFile, '');
    expect(await parentOf('true'))
      .to.be.above(1)
      .and.not.equal(first);
  });

  it('ends its process when it is closed, also if a launch is in progress', async () => {
    const parent = await parentOf('true');
    launcher.close();
    await eventually('the process to end', () => {
      try {
        return !process.kill(parent, 0);
      } catch {
        return true;
      }
    });
    const { ended } = await launcher.launch(shell('exec sleep 0.2'));
    launcher.close();
    expect(await ended).to.equal(null);
  });
});
