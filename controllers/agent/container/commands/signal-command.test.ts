import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { expect } from 'chai';
import type { StatusError } from 'kedge';
import { eventually, FakeClock } from 'kedge/testing';
import type { EngineExec } from '../engine/engine-exec.js';
import { ContainerCommands } from './container-commands.js';
import { signalCommand } from './signal-command.js';

/** Starts a process from a thread other than the first, and prints its pid. */
const threaded = `
const { Worker } = require('node:worker_threads');
new Worker(\`
  const { spawn } = require('node:child_process');
  process.stdout.write(spawn('sleep', ['600']).pid + '\\\\n');
  setInterval(() => undefined, 60000);
\`, { eval: true });
`;

describe('a signal for a command in a container', () => {
  const id = 'a'.repeat(64);
  const shell = 'b'.repeat(64);
  // Contained in the cgroup of every process, as the id of a container is in those of its processes.
  const record = { id, container: '/' };
  const { signal } = new AbortController();
  let child: ChildProcess | undefined;
  afterEach(() => child?.kill('SIGKILL'));

  const denied = (): never => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
  };

  /** An engine with a running command. A shell in its container ends with `exitCode`, and is noted in `ran`. */
  function engine(pid: number, exitCode: number): { exec: EngineExec; ran: unknown[] } {
    const ran: unknown[] = [];
    const socket = new Duplex({ read: () => undefined, write: (_data, _encoding, next) => next() });
    const exec = {
      create: (_container: string, { Cmd, User }: { Cmd: string[]; User?: string }) => {
        ran.push([...Cmd.slice(0, 2), ...Cmd.slice(3), User]);
        return Promise.resolve(shell);
      },
      start: () => Promise.resolve({ socket, head: Buffer.alloc(0) }),
      inspect: (which: string) =>
        Promise.resolve(
          which === id
            ? { running: true, exitCode: undefined, pid }
            : { running: false, exitCode, pid: 0 },
        ),
    };
    return { exec: exec as unknown as EngineExec, ran };
  }

  it('reaches the processes that its other threads started', async () => {
    child = spawn(process.execPath, ['-e', threaded], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [data] = (await once(child.stdout!, 'data')) as [Buffer];
    const grandchild = Number(data.toString());
    const signalled: number[] = [];
    const kill = (pid: number): number => signalled.push(pid);
    const { exec } = engine(child.pid!, 0);
    await signalCommand({ exec, clock: new FakeClock(), signal, kill }, record, 'SIGINT');
    expect(signalled).to.deep.equal([child.pid, grandchild]);
    process.kill(grandchild, 'SIGKILL');
  });

  it('is sent by a shell in the container, as its user, if this process may not send it', async () => {
    child = spawn('sleep', ['600']);
    const { exec, ran } = engine(child.pid!, 0);
    await signalCommand({ exec, clock: new FakeClock(), signal, kill: denied }, record, 'SIGINT');
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    const inside = /^NSpid:.*?(\d+)$/m.exec(status)?.[1];
    expect(ran).to.deep.equal([['sh', '-c', 'INT', inside, undefined]]);
  });

  it('that can not be sent is an error with cause and remedy', async () => {
    child = spawn('sleep', ['600']);
    const { exec } = engine(child.pid!, 127);
    const error = await signalCommand(
      { exec, clock: new FakeClock(), signal, kill: denied },
      record,
      'SIGINT',
    ).catch((thrown: unknown) => thrown as StatusError);
    // Errors without a code reach a caller without their message.
    expect(error).to.include({ code: 'FailedPrecondition', reason: 'ExecFailed' });
    expect(String(error))
      .to.contain('does not run as root')
      .and.contain('sh ended with exit code 127')
      .and.contain(`sudo kill -9 ${child.pid}`);
  });

  it('that could not be sent is repeated, because the record of the command stays', async () => {
    child = spawn('sleep', ['600']);
    const ended = once(child, 'exit');
    const directory = mkdtempSync(join(tmpdir(), 'kedge-commands-'));
    try {
      const clock = new FakeClock();
      const logger = { warn: () => undefined } as never;
      const socket = new Duplex({ read: () => undefined, write: (_d, _e, next) => next() });
      let isHung = true;
      const { exec } = engine(child.pid!, 127);
      const commands = new ContainerCommands({
        exec: {
          ...exec,
          create: () => Promise.resolve(id),
          start: () => Promise.resolve({ socket, head: Buffer.alloc(0) }),
          inspect: (which: string) =>
            isHung ? Promise.reject(new Error('hung')) : exec.inspect(which, signal),
        } as unknown as EngineExec,
        ...{ directory, clock, logger, signal },
      });
      const command = await commands.start('w', '/', { command: ['sleep'], terminal: undefined });
      command.kill();
      expect(await command.exited.catch(String)).to.contain('hung');
      await commands.endLeft();
      expect(existsSync(join(directory, id)), 'recorded').to.equal(true);
      isHung = false;
      await commands.endLeft();
      expect((await ended)[1]).to.equal('SIGKILL');
      await eventually('no record', () => !existsSync(join(directory, id)));
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
