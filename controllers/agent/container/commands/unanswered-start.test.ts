import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { expect } from 'chai';
import { eventually, FakeClock } from 'kedge/testing';
import type { EngineExec, ExecInspection } from '../engine/engine-exec.js';
import { EngineError } from '../engine/engine-error.js';
import { CommandRecords } from './command-records.js';
import { execInContainer } from './container-exec.js';

describe('a command in a container whose start fails for its caller', () => {
  const id = 'a'.repeat(64);
  // Contained in the cgroup of every process, as the id of a container is in those of its processes.
  const container = '/';
  const { signal } = new AbortController();
  let clock: FakeClock;
  let directory: string;
  let records: CommandRecords;
  let present: ExecInspection;
  let child: ChildProcess | undefined;
  beforeEach(() => {
    clock = new FakeClock();
    directory = mkdtempSync(join(tmpdir(), 'kedge-commands-'));
    records = new CommandRecords(directory);
    present = { running: false, exitCode: undefined, pid: 0 };
  });
  afterEach(() => {
    child?.kill('SIGKILL');
    rmSync(directory, { recursive: true });
  });

  /** Starts a command at an engine, and returns the error. */
  const failed = (engine: Partial<EngineExec>, tty = false): Promise<unknown> =>
    execInContainer(
      {
        exec: {
          create: () => Promise.resolve(id),
          inspect: () => Promise.resolve(present),
          ...engine,
        } as EngineExec,
        ...{ clock, container, records, signal },
      },
      { command: ['sleep', '600'], terminal: tty ? { columns: 80, rows: 24 } : undefined },
    ).then(
      () => undefined,
      (error: unknown) => error,
    );

  /** A process that the engine starts, and its end. */
  function begun(): Promise<unknown> {
    child = spawn('sleep', ['600']);
    const ended = once(child, 'exit').then(([, by]) => {
      present = { running: false, exitCode: 137, pid: 0 };
      return by as unknown;
    });
    present = { running: true, exitCode: undefined, pid: child.pid ?? 0 };
    return ended;
  }

  it('is killed if the engine starts it after the deadline of the call, and is recorded until then', async () => {
    const late = new EngineError('Timeout', 'hung');
    expect(await failed({ start: () => Promise.reject(late) })).to.equal(late);
    await clock.advance(10_000);
    expect(await records.left()).to.deep.equal([{ id, container }]);
    const ended = begun();
    await clock.advance(60_000);
    expect(await ended).to.equal('SIGKILL');
    await clock.advance(60_000);
    await eventually('no record', async () => (await records.left()).length === 0);
  });

  it('is not searched if the engine refused it', async () => {
    const refused = new EngineError('Conflict', 'the container is paused');
    expect(await failed({ start: () => Promise.reject(refused) })).to.equal(refused);
    await eventually('no record', async () => (await records.left()).length === 0);
    expect(clock.pending).to.equal(0);
  });

  it('is ended if the size of its terminal can not be set', async () => {
    const refused = new EngineError('Failed', 'no size');
    const socket = new Duplex({ read: () => undefined, write: (_data, _encoding, next) => next() });
    const ended = begun();
    const failing = failed(
      {
        start: () => Promise.resolve({ socket, head: Buffer.alloc(0) }),
        resize: () => Promise.reject(refused),
      },
      true,
    );
    let isOver = false;
    void failing.then(() => (isOver = true));
    // The processes are looked up in files, which may take any number of turns.
    await eventually('the error', async () => {
      await clock.advance(50);
      return isOver;
    });
    expect(await failing).to.equal(refused);
    expect(await ended).to.equal('SIGHUP');
  });
});
