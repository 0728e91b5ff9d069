import { type ChildProcess, fork } from 'node:child_process';
import { programPath } from './process-table.js';

/** A file that is written before a supervisor is started. */
export interface LaunchFile {
  readonly path: string;
  readonly text: string;
}

/** A supervisor to start. */
export interface LaunchRequest {
  /** Input files of the supervisor, and records of its start. Each is replaced atomically. */
  readonly files: readonly LaunchFile[];
  /** Arguments of the shell: the script and the script's arguments. */
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** An existing file, to which the supervisor's output is appended. */
  readonly logFile: string;
}

/** A started supervisor. */
export interface Launched {
  /** Resolves with the exit code of the supervisor; null after a signal, or if the launcher ended first. */
  readonly ended: Promise<number | null>;
}

type Outcome = { readonly id: number } & (
  | { readonly type: 'started' }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'ended'; readonly code: number | null }
);

interface Launch {
  readonly started: () => void;
  readonly failed: (message: string) => void;
  readonly ended: (code: number | null) => void;
}

/**
 * Starts supervisors from a small process. The time of a fork grows with the memory of the forking process and blocks
 * its event loop. A daemon with many objects uses much memory.
 *
 * The process is started at the first launch, and at the next launch after it ended. It ends with the daemon; the
 * supervisors keep running.
 */
export class Launcher {
  readonly #script: string;
  #process: LauncherProcess | undefined;

  /** @param script the program of the process */
  constructor(script: string) {
    this.#script = script;
  }

  /**
   * Starts a supervisor.
   * @throws Error if it can't be started. If the process ended meanwhile, the supervisor may have been started.
   */
  launch(request: LaunchRequest): Promise<Launched> {
    if (!this.#process?.isUsable) this.#process = new LauncherProcess(this.#script);
    return this.#process.launch(request);
  }

  /** Ends the process. Its supervisors keep running. */
  close(): void {
    this.#process?.close();
  }
}

class LauncherProcess {
  readonly #child: ChildProcess;
  readonly #launches = new Map<number, Launch>();
  #lastId = 0;
  #hasFailed = false;
  /** Number of launches with unknown outcome. They keep the event loop alive. */
  #waiting = 0;

  constructor(script: string) {
    this.#child = fork(script, [], {
      // Terminal signals to the daemon must not reach it.
      detached: true,
      // It must not inherit debugging and profiling options of the daemon.
      execArgv: [],
      env: { PATH: programPath },
      cwd: '/',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#child.unref();
    this.#child.channel?.unref();
    this.#child.on('message', (outcome) => this.#take(outcome as Outcome));
    this.#child.once('error', ({ message }) => this.#end(`failed: ${message}`));
    this.#child.once('disconnect', () => this.#end('ended'));
  }

  get isUsable(): boolean {
    return this.#child.connected && !this.#hasFailed;
  }

  async launch(request: LaunchRequest): Promise<Launched> {
    const id = (this.#lastId += 1);
    this.#waiting += 1;
    this.#child.channel?.ref();
    try {
      let end: Launch['ended'] = () => undefined;
      const ended = new Promise<number | null>((resolve) => (end = resolve));
      await new Promise<void>((started, reject) => {
        const failed = (message: string): void => reject(new Error(message));
        this.#launches.set(id, { started, failed, ended: end });
        // Without a channel, an error event follows.
        if (this.#child.connected)
          this.#child.send({ id, ...request }, (error) => {
            if (error) this.#take({ id, type: 'failed', message: error.message });
          });
      });
      return { ended };
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#child.channel?.unref();
    }
  }

  close(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  #end(outcome: string): void {
    this.#hasFailed = true;
    const message = `the process that starts workloads ${outcome}`;
    for (const id of [...this.#launches.keys()]) this.#take({ id, type: 'failed', message });
  }

  #take(outcome: Outcome): void {
    const launch = this.#launches.get(outcome.id);
    switch (outcome.type) {
      case 'started':
        launch?.started();
        return;
      case 'failed':
        this.#launches.delete(outcome.id);
        launch?.failed(outcome.message);
        // The supervisor may have been started before.
        launch?.ended(null);
        return;
      case 'ended':
        this.#launches.delete(outcome.id);
        launch?.ended(outcome.code);
    }
  }
}
