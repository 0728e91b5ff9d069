import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
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
  async function exitWith(exitCode: number | undefined): Promise<unknown> {
    const socket = new Duplex({ read: () => undefined, write: (_data, _encoding, next) => next() });
    const exec: Partial<EngineExec> = {
      create: () => Promise.resolve('a'.repeat(64)),
      start: () => Promise.resolve({ socket, head: Buffer.alloc(0) }),
      inspect: () => Promise.resolve({ running: false, exitCode, pid: 0 }),
    };
    const records = new CommandRecords(directory);
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
});
