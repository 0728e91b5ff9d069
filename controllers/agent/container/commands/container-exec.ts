import { constants } from 'node:os';
import type { Duplex } from 'node:stream';
import { type Clock, sleep } from 'kedge';
import type {
  ExecExit,
  ExecOutput,
  ExecProcess,
  ExecSpec,
  TerminalSize,
} from '../../runtime/exec.js';
import { ignoreFullDisk } from '../../runtime/full-disk.js';
import type { EngineExec, ExecInspection } from '../engine/engine-exec.js';
import type { EngineConnection } from '../engine/engine-transport.js';
import { EngineError, isEngineError } from '../engine/engine-error.js';
import type { CommandRecords } from './command-records.js';
import { FrameSplitter } from '../engine/stream-frames.js';
import { signalCommand } from './signal-command.js';
import { endUnanswered } from './unanswered-start.js';

/**
 * Time for which a reader waits for output, after the end of a command, until this process closes its connection, if the
 * engine keeps it open.
 */
const lingerMs = 2_000;
/**
 * Maximum output that is read after the end of a command: far beyond what pipes and sockets hold for a slow reader. A
 * process that the command left in the background may write without an end.
 */
const leftBytesMax = 4 * 1024 * 1024;
/** Poll interval for the exit of a command whose connection has ended. */
const exitPollMs = 20;
/** Grace between the request to end a command and its SIGKILL. */
const graceMs = 2_000;
/** Interval of the checks whether a command whose connection is open has ended. */
const watchMs = 1_000;

/** Limits for the wait until a command has its terminal. */
const sizeTriesMax = 100;
const sizeWaitMs = 50;

/** Dependencies of {@link execInContainer}. */
export interface ContainerExecOptions {
  readonly exec: EngineExec;
  readonly clock: Clock;
  readonly container: string;
  /**
   * Records of running commands, so that those that outlive this process are ended later. Absent: none are recorded.
   */
  readonly records?: CommandRecords;
  readonly signal: AbortSignal;
}

/**
 * Starts a command inside a container, with the container's user, environment and working directory.
 * @throws EngineError if the engine refuses the command, or the size of its terminal
 */
export async function execInContainer(
  options: ContainerExecOptions,
  { command, terminal }: ExecSpec,
): Promise<ExecProcess> {
  const { container, exec, records, signal } = options;
  const tty = terminal !== undefined;
  const config = {
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: tty,
    Cmd: command,
    ...(tty && { Env: ['TERM=xterm-256color'] }),
  };
  const id = await exec.create(container, config, signal);
  // Only an end of this process during the command needs the record. On a full disk a command may free space.
  await records?.add({ id, container }).catch(ignoreFullDisk);
  const forget = (): void => void records?.remove(id).catch(() => undefined);
  const connection = await exec.start(id, tty, signal).catch((error: unknown) => {
    // Without an answer, the engine may still start it.
    if (isEngineError(error, 'Broken', 'Timeout', 'Cancelled')) {
      records?.release(id);
      void endUnanswered(options, id).then((isOver) => isOver && forget());
    } else forget();
    throw error;
  });
  const running = new ContainerCommand(options, id, connection, tty);
  running.exited.then(forget, (error: unknown) => {
    // The engine forgets a command with its container. Otherwise it may still run and is ended later.
    if (isEngineError(error, 'NotFound')) forget();
    else records?.release(id);
  });
  if (terminal)
    try {
      await firstSize(options, running, terminal);
    } catch (error) {
      // No caller gets this command.
      running.kill();
      throw error;
    }
  return running;
}

/**
 * Sets the initial size of the terminal. Retries, because the engine rejects a size until the terminal exists, which is
 * after the answer to the start.
 */
async function firstSize(
  { clock, signal }: ContainerExecOptions,
  running: ContainerCommand,
  size: TerminalSize,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await running.resize(size);
      return;
    } catch (error) {
      if (tries === sizeTriesMax || signal.aborted) throw error;
    }
    await sleep(clock, sizeWaitMs);
  }
}

/** A command on the connection that the engine opened for it. */
class ContainerCommand implements ExecProcess {
  readonly output: AsyncIterable<ExecOutput>;
  readonly exited: Promise<ExecExit>;
  readonly #options: ContainerExecOptions;
  readonly #id: string;
  readonly #socket: Duplex;
  readonly #over = new AbortController();
  /** Start of the reader's present wait for output, monotonic milliseconds; undefined while the reader has some. */
  #waitsSince: number | undefined;
  /** Duration of the reader's earlier waits. */
  #waitedMs = 0;
  #receivedBytes = 0;

  constructor(
    options: ContainerExecOptions,
    id: string,
    { socket, head }: EngineConnection,
    tty: boolean,
  ) {
    this.#options = options;
    this.#id = id;
    this.#socket = socket;
    // A failed write is ignored: the command no longer reads its input.
    socket.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => {
      socket.once('end', resolve);
      socket.once('close', resolve);
    });
    this.output = this.#read(head, tty);
    this.exited = this.#exit(closed).finally(() => this.#over.abort());
    // A caller that only reads the output does not handle this rejection.
    this.exited.catch(() => undefined);
  }

  async *#read(head: Buffer, tty: boolean): AsyncGenerator<ExecOutput> {
    const splitter = new FrameSplitter();
    const taken = function* (data: Buffer): Generator<ExecOutput> {
      if (data.length === 0) return;
      if (tty) yield { stream: 'stdout', data };
      else yield* splitter.split(data);
    };
    yield* taken(head);
    try {
      const { clock } = this.#options;
      this.#waitsSince = clock.monotonic();
      for await (const data of this.#socket as AsyncIterable<Buffer>) {
        this.#waitedMs = this.#waited();
        this.#waitsSince = undefined;
        this.#receivedBytes += data.length;
        yield* taken(data);
        this.#waitsSince = clock.monotonic();
      }
    } catch (error) {
      // The socket was closed here because the command has ended or was given up.
      if (!this.#over.signal.aborted && !this.#socket.destroyed) throw error;
    }
  }

  /**
   * Waits for the end of the command. Closes a connection that the engine keeps open after the last output, and kills a
   * command that outlives its connection by 2 seconds.
   */
  async #exit(closed: Promise<void>): Promise<ExecExit> {
    const { clock } = this.#options;
    const ended = new AbortController();
    const watched = (async () => {
      for (;;) {
        await sleep(clock, watchMs, ended.signal);
        if (ended.signal.aborted) return;
        const { running } = await this.#inspect();
        if (!running) break;
      }
      await this.#lastOutput(ended.signal);
      if (!ended.signal.aborted) this.#socket.destroy();
    })();
    try {
      await Promise.race([closed, watched]);
    } finally {
      ended.abort();
      watched.catch(() => undefined);
    }
    for (let tries = 0; ; tries += 1) {
      const { running, exitCode } = await this.#inspect();
      if (!running) {
        if (exitCode !== undefined) return exitOf(exitCode);
        throw new EngineError('Broken', 'the engine reported no exit code of a command');
      }
      if (tries > 0 && tries % 100 === 0) await this.#signalPid('SIGKILL');
      await sleep(clock, exitPollMs);
    }
  }

  /**
   * Waits until the reader has waited for output for {@link lingerMs}: pipes and sockets have the last output of a command
   * for a slow reader.
   */
  async #lastOutput(signal: AbortSignal): Promise<void> {
    const bytesMax = this.#receivedBytes + leftBytesMax;
    const untilMs = this.#waited() + lingerMs;
    while (this.#waited() < untilMs && this.#receivedBytes <= bytesMax && !signal.aborted)
      await sleep(this.#options.clock, Math.max(exitPollMs, untilMs - this.#waited()), signal);
  }

  /** The time for which the reader has waited for output, milliseconds. */
  #waited(): number {
    const since = this.#waitsSince;
    return this.#waitedMs + (since === undefined ? 0 : this.#options.clock.monotonic() - since);
  }

  #inspect(): Promise<ExecInspection> {
    const { exec, signal } = this.#options;
    return exec.inspect(this.#id, signal);
  }

  async write(data: Buffer): Promise<void> {
    if (this.#socket.destroyed || this.#socket.writableEnded || this.#socket.write(data)) return;
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        this.#socket.off('drain', finish);
        this.#socket.off('close', finish);
        resolve();
      };
      this.#socket.once('drain', finish);
      this.#socket.once('close', finish);
    });
  }

  closeInput(): void {
    this.#socket.end();
  }

  async resize(size: TerminalSize): Promise<void> {
    const { exec, signal } = this.#options;
    try {
      await exec.resize(this.#id, size, signal);
    } catch (error) {
      if ((await this.#inspect()).running) throw error;
    }
  }

  /** Sends a signal to the command. @throws the errors of {@link signalCommand} */
  async signal(name: NodeJS.Signals): Promise<void> {
    await this.#signalPid(name);
  }

  kill(): void {
    if (this.#over.signal.aborted) return;
    void this.#end().catch(() => this.#socket.destroy());
  }

  async #end(): Promise<void> {
    await this.#signalPid('SIGHUP');
    await sleep(this.#options.clock, graceMs, this.#over.signal);
    if (this.#over.signal.aborted) return;
    await this.#signalPid('SIGKILL');
    this.#socket.destroy();
  }

  #signalPid(name: NodeJS.Signals): Promise<void> {
    const { container } = this.#options;
    return signalCommand(this.#options, { id: this.#id, container }, name);
  }
}

function exitOf(code: number): ExecExit {
  const name = Object.entries(constants.signals).find(([, value]) => value === code - 128)?.[0];
  return { code, signal: name ?? '' };
}
