import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { readFile } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { type Clock, sleep } from 'kedge';
import { merge } from '../logs/merge.js';
import type { ExecExit, ExecOutput, ExecProcess, ExecSpec, TerminalSize } from '../runtime/exec.js';
import { shellWord } from '../../messages/shell-word.js';
import { type BoxMode, ownerOf, withoutRights } from './privileges.js';
import { programPath } from '../launch/process-table.js';
import { becomeCommand, carriedEnvironment, startedWith } from './workload-environment.js';

const run = promisify(execFile);
/** Grace period of a command before it is killed. */
const graceMs = 2_000;

async function tool(name: string): Promise<string> {
  try {
    const { stdout } = await run('/bin/sh', ['-c', `command -v ${name}`], {
      env: { PATH: programPath },
    });
    return stdout.trim();
  } catch (cause) {
    throw new Error(`${name} is not installed on this node; install util-linux`, { cause });
  }
}

/** Time limit for a workload to set up its mounts; before that a command would see the host's. */
const mountsMsMax = 10_000;

/** True once the workload has its own root without the host's mounts. */
async function hasItsRoot(pid: number, boxed: boolean): Promise<boolean> {
  const mounts = (await readFile(`/proc/${pid}/mountinfo`, 'utf8')).split('\n');
  const targets = new Map(mounts.map((line) => [line.split(' ')[4], line]));
  const top = targets.get('/') ?? '';
  // A sandbox seals its root last.
  if (boxed && !top.split(' ')[5]?.split(',').includes('ro')) return false;
  return !targets.has('/.host') && / - tmpfs kedge /.test(top);
}

async function untilItsRoot(pid: number, boxed: boolean, clock: Clock): Promise<void> {
  const end = clock.monotonic() + mountsMsMax;
  while (!(await hasItsRoot(pid, boxed))) {
    if (clock.monotonic() >= end)
      throw new Error(
        `the mounts of process ${pid} are not set up after ${mountsMsMax} ms; repeat the command`,
      );
    await sleep(clock, 20);
  }
}

/**
 * Waits for the command, which is in the pid namespace of the sandbox, unlike this shell. Both receive signals, because
 * they share a process group. The command handles them.
 */
const waiter = 'trap : HUP INT QUIT USR1 USR2 TERM TSTP; "$@"; exit "$?"';

/** The workload that a command joins. */
export interface ExecTarget {
  readonly pid: number;
  /** How the workload's mounts were created: as root, or in a user namespace. */
  readonly mode: BoxMode;
  /**
   * Arguments of setpriv(1) with which the workload was started; undefined if an earlier release started it without a
   * sandbox.
   */
  readonly privileges: readonly string[] | undefined;
  /** The words before the command that filter its system calls, as the workload was started with. */
  readonly filter: readonly string[];
  /** Files of the control groups of the workload, which the command joins. */
  readonly groups: readonly string[];
  readonly clock: Clock;
}

/**
 * Starts a command with the root, working directory, environment and rights of a running workload. script(1), which
 * every Debian has, provides the terminal, so that the daemon needs no native code. The command ends with the daemon.
 * @throws Error if the mounts of the workload are not set up in 10 seconds, the workload ended, or the node lacks
 * nsenter, setpriv or, for a terminal, script
 */
export async function execInProcess(target: ExecTarget, spec: ExecSpec): Promise<ExecProcess> {
  const { pid, mode, clock, privileges, filter, groups } = target;
  const boxed = privileges !== undefined;
  await untilItsRoot(pid, boxed, clock);
  const env = await startedWith(pid);
  const user = mode === 'user' ? ['--user', '--preserve-credentials'] : [];
  const box = boxed ? ['--pid', '--ipc', '--no-fork'] : [];
  const enter = ['--target', String(pid), ...user, '--mount', ...box, '--root', '--wd', '--'];
  const kept = privileges ?? (mode === 'user' ? withoutRights : []);
  const become = ['/bin/sh', '-c', becomeCommand, 'kedge', ...spec.command];
  const reduced = ['setpriv', '--pdeathsig', 'KILL', ...kept, '--', ...filter, ...become];
  const join = groups.map((procs) => `echo 0 >${shellWord(procs)} || exit 126`).join('; ');
  const joined = join === '' ? [] : ['/bin/sh', '-c', `${join}; exec "$@"`, 'kedge'];
  const nsenter = [...joined, await tool('nsenter'), ...enter];
  // It must end with the daemon: otherwise it would keep the workload's mounts busy.
  const mortal = ['--pdeathsig', 'KILL', '--', ...nsenter];
  const setpriv = await tool('setpriv');
  // These programs run on the host. In the daemon's directory they would keep its file system busy.
  const cwd = '/';
  const { terminal } = spec;
  if (!terminal) {
    const child = spawn(setpriv, [...mortal, '/bin/sh', '-c', waiter, 'kedge', ...reduced], {
      env: carriedEnvironment(env),
      cwd,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    await started(child);
    return new PipedCommand(child, clock);
  }
  await tool('script');
  // The inner shell writes to descriptor 3 once it has its terminal. The user of the command must own the terminal to
  // open it by name.
  const owner = ownerOf(kept);
  const given = owner === undefined ? '' : `chown ${owner} /proc/self/fd/0; `;
  const inner = `echo up >&3; exec 3>&-; ${given}stty columns ${terminal.columns} rows ${terminal.rows}; exec ${reduced.map(shellWord).join(' ')}`;
  const child = spawn(setpriv, [...mortal, 'script', '-qfec', inner, '/dev/null'], {
    env: { ...carriedEnvironment({ TERM: 'xterm-256color', ...env }), SHELL: '/bin/sh' },
    cwd,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  await started(child);
  const ready = firstLine(child.stdio[3] as Readable);
  // Created before any wait, because the command may end meanwhile.
  return new TerminalCommand(
    child,
    clock,
    ready.then(() => childOf(child.pid ?? 0)),
  );
}

/** The child of a process; 0 without one. */
async function childOf(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return Number(children.split(' ')[0]);
}

function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
}

async function firstLine(stream: Readable): Promise<void> {
  let text = '';
  for await (const chunk of stream) {
    text += String(chunk);
    if (text.includes('\n')) break;
  }
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    if (pid > 1) process.kill(-pid, name);
  } catch (error) {
    // It ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

class PipedCommand implements ExecProcess {
  readonly output: AsyncIterable<ExecOutput>;
  readonly exited: Promise<ExecExit>;
  protected readonly child: ChildProcess;
  readonly #clock: Clock;
  #over = false;

  constructor(child: ChildProcess, clock: Clock) {
    this.child = child;
    this.#clock = clock;
    this.exited = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.#over = true;
        resolve(exitOf(code, signal));
      });
    });
    // The command no longer reads its input.
    child.stdin?.on('error', () => undefined);
    this.output = merge([tagged('stdout', child.stdout), tagged('stderr', child.stderr)]);
  }

  async write(data: Buffer): Promise<void> {
    const { stdin } = this.child;
    if (!stdin || stdin.destroyed || stdin.write(data)) return;
    // The end of the command closes its input too. A race with it would keep memory for each write.
    await drained(stdin);
  }

  closeInput(): void {
    this.child.stdin?.end();
  }

  resize(_size: TerminalSize): Promise<void> {
    return Promise.resolve();
  }

  signal(name: NodeJS.Signals): Promise<void> {
    signalGroup(this.child.pid ?? 0, name);
    return Promise.resolve();
  }

  kill(): void {
    if (this.#over) return;
    this.end('SIGHUP');
    const over = new AbortController();
    void this.exited.then(() => over.abort());
    void sleep(this.#clock, graceMs, over.signal).then(() => {
      if (!this.#over) this.end('SIGKILL');
    });
  }

  protected end(name: NodeJS.Signals): void {
    signalGroup(this.child.pid ?? 0, name);
  }
}

/** A command on a terminal. `inner` is the leader of the session of the terminal. */
class TerminalCommand extends PipedCommand {
  readonly #inner: Promise<number>;

  constructor(child: ChildProcess, clock: Clock, inner: Promise<number>) {
    super(child, clock);
    this.#inner = inner;
  }

  override async resize({ columns, rows }: TerminalSize): Promise<void> {
    const inner = await this.#inner;
    try {
      // The name of the terminal is valid only in the workload's /dev.
      const terminal = `/proc/${inner}/fd/0`;
      const args = ['-F', terminal, 'columns', String(columns), 'rows', String(rows)];
      // The kernel notifies the command (SIGWINCH).
      await run('stty', args, { env: { PATH: programPath } });
    } catch (error) {
      if (await this.#runs()) throw error;
    }
  }

  /** Signals the foreground process group of the terminal, like a key press. */
  override async signal(name: NodeJS.Signals): Promise<void> {
    const inner = await this.#inner;
    const stat = await readFile(`/proc/${inner}/stat`, 'utf8').catch(() => '');
    const foreground = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[5]);
    signalGroup(foreground > 1 ? foreground : inner, name);
  }

  protected override end(name: NodeJS.Signals): void {
    // Remaining processes end with the terminal if this fails.
    void this.#inner.then((inner) => signalGroup(inner, name)).catch(() => undefined);
    super.end(name);
  }

  async #runs(): Promise<boolean> {
    return readFile(`/proc/${await this.#inner}/stat`).then(
      () => true,
      () => false, // it ended: nothing to resize
    );
  }
}

function exitOf(code: number | null, signal: NodeJS.Signals | null): ExecExit {
  if (signal) return { code: 128 + constants.signals[signal], signal };
  const number = (code ?? 0) - 128;
  const name = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  return { code: code ?? 0, signal: number > 0 && name ? name : '' };
}

function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      stream.off('drain', finish);
      stream.off('close', finish);
      resolve();
    };
    stream.once('drain', finish);
    stream.once('close', finish);
  });
}

async function* tagged(
  stream: ExecOutput['stream'],
  source: Readable | null,
): AsyncIterable<ExecOutput> {
  for await (const data of source ?? []) yield { stream, data: data as Buffer };
}
