import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { root, TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';

describe('signals of kedge exec', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let child: ChildProcess | undefined;

  before(async () => {
    daemon = await TestDaemon.start();
    await daemon.ok('POST', `${base}/services`, {
      ...{ name: 'busy', runtime: 'process', command: ['sleep', '600'] },
      terminationGracePeriodSeconds: 0,
    });
    await eventually('busy-0 to run', async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/busy-0`);
      return body.status === 'Running';
    });
  });
  afterEach(() => child?.kill('SIGKILL'));
  after(() => daemon.dispose());

  /** The command of a shell that prints which signal it got and exits with 5. */
  const trap = (name: string): string =>
    `trap "echo caught ${name}; exit 5" ${name}; echo ready; while :; do sleep 0.1; done`;
  const exec = join(root, 'cmd/bin/kedge.mjs');

  /** Starts a program and returns its output so far and its exit code. */
  function start(program: string, args: readonly string[]) {
    const started = spawn(program, args, { env: { ...process.env, ...daemon.cliEnvironment } });
    child = started;
    let text = '';
    started.stdout.on('data', (data) => (text += String(data)));
    const ended = once(started, 'close') as Promise<[number | null]>;
    return { started, ended, output: () => text };
  }

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    it(`${signal} to kedge reaches the command, whose exit code is returned`, async () => {
      const script = trap(signal.slice(3));
      const args = [exec, 'exec', 'busy-0', '--', 'sh', '-c', script];
      const { started, ended, output } = start(process.execPath, args);
      await eventually('the command', () => output().includes('ready'));
      started.kill(signal);
      expect((await ended)[0]).to.equal(5);
      expect(output()).to.contain(`caught ${signal.slice(3)}`);
    });

  it('SIGINT reaches a command that does not read its input', async () => {
    const args = [exec, 'exec', '-i', 'busy-0', '--', 'sh', '-c', trap('INT')];
    const { started, ended, output } = start(process.execPath, args);
    // More than the pipe of the command holds.
    started.stdin.on('error', () => undefined).write(Buffer.alloc(500_000));
    await eventually('the command', () => output().includes('ready'));
    started.kill('SIGINT');
    expect((await ended)[0]).to.equal(5);
    expect(output()).to.contain('caught INT');
  });

  it('Ctrl-C in a terminal interrupts the command, and not kedge', async () => {
    const words = [process.execPath, exec, 'exec', '-it', 'busy-0', '--', 'sh', '-c', trap('INT')];
    const line = words.map((word) => `'${word}'`).join(' ');
    const { started, ended, output } = start('script', ['-qec', line, '/dev/null']);
    await eventually('the command', () => output().includes('ready'));
    started.stdin.write('\u0003');
    expect((await ended)[0]).to.equal(5);
    expect(output()).to.contain('caught INT');
  });
});
