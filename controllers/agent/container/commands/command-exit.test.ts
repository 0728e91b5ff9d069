import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import type { ExecProcess } from '../../runtime/exec.js';
import type { EngineExec } from '../engine/engine-exec.js';
import { CommandRecords } from './command-records.js';
import { execInContainer } from './container-exec.js';

describe('the exit of a command in a container', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'kedge-commands-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  /** The exit of a command that ended with this code, or the error. */
  async function exitWith(
    exitCode: number | undefined,
    records = new CommandRecords(directory),
  ): Promise<unknown> {
    const socket = new Duplex({ read: () => undefined, write: (_data, _encoding, next) => next() });
    const exec: Partial<EngineExec> = {
      create: () => Promise.resolve('a'.repeat(64)),
      start: () => Promise.resolve({ socket, head: Buffer.alloc(0) }),
      inspect: () => Promise.resolve({ running: false, exitCode, pid: 0 }),
    };
    const { signal } = new AbortController();
    const command = await execInContainer(
      { exec: exec as EngineExec, clock: new FakeClock(), container: '/', records, signal },
      { command: ['true'], terminal: undefined },
    );
    socket.destroy();
    return command.exited.catch((error: unknown) => error);
  }

  it('has the code that the engine reports', async () => {
    expect(await exitWith(3)).to.include({ code: 3 });
    expect(await exitWith(0)).to.include({ code: 0 });
  });

  it('is an error, not a success, if the engine reports no code', async () => {
    expect(await exitWith(undefined)).to.include({ kind: 'Broken' });
  });

  it('needs no record on a full disk, where a command may free space; other errors of the record refuse it', async () => {
    const failing = (code: string): CommandRecords => {
      const records = new CommandRecords(directory);
      records.add = () => Promise.reject(Object.assign(new Error(code), { code }));
      return records;
    };
    expect(await exitWith(0, failing('ENOSPC'))).to.include({ code: 0 });
    const refused: unknown = await exitWith(0, failing('EIO')).catch((error: unknown) => error);
    expect(refused).to.include({ code: 'EIO' });
  });

  /** A command that has ended, on a connection that the engine keeps open, with this output in it. */
  async function endedWith(output: readonly string[]): Promise<{
    readonly clock: FakeClock;
    readonly command: ExecProcess;
    readonly socket: Duplex;
  }> {
    const left = [...output];
    const socket = new Duplex({
      highWaterMark: 1,
      // Each piece arrives later than the read of the one before it.
      read() {
        setImmediate(() => {
          const text = this.destroyed ? undefined : left.shift();
          if (text !== undefined) this.push(Buffer.from(text));
        });
      },
      write: (_data, _encoding, next) => next(),
    });
    const exec: Partial<EngineExec> = {
      create: () => Promise.resolve('a'.repeat(64)),
      start: () => Promise.resolve({ socket, head: Buffer.alloc(0) }),
      inspect: () => Promise.resolve({ running: false, exitCode: 0, pid: 0 }),
      resize: () => Promise.resolve(),
    };
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const command = await execInContainer(
      { exec: exec as EngineExec, clock, container: '/', signal },
      { command: ['true'], terminal: { columns: 80, rows: 24 } },
    );
    return { clock, command, socket };
  }

  it('does not cut off the output of a reader that is slower than the command', async () => {
    const { clock, command, socket } = await endedWith(['a', 'b', 'c']);
    const read: string[] = [];
    for await (const { data } of command.output) {
      read.push(data.toString());
      if (read.length <= 3) await clock.advance(10_000);
      // The engine keeps the connection open; nothing else ends the wait for more output.
      if (read.length === 3) void clock.advance(10_000);
    }
    expect(read).to.deep.equal(['a', 'b', 'c']);
    expect(socket.destroyed).to.equal(true);
    expect(await command.exited).to.include({ code: 0 });
  });

  it('ends the output after 2 s of waiting for it, also if a process in the background writes at times', async () => {
    const { clock, command, socket } = await endedWith([]);
    const reading = (async () => {
      let lines = 0;
      for await (const _piece of command.output) lines += 1;
      return lines;
    })();
    for (let second = 0; second < 10 && !socket.destroyed; second += 1) {
      socket.push('x');
      await clock.advance(1_000);
    }
    expect(await reading).to.be.within(2, 6);
    expect(await command.exited).to.include({ code: 0 });
  });
});
