/** Size of a terminal in characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A command to run inside a workload. */
export interface ExecSpec {
  readonly command: readonly string[];
  /** A terminal of this size, which merges output and errors into one stream; undefined for no terminal. */
  readonly terminal: TerminalSize | undefined;
}

/** The result of a command. */
export interface ExecExit {
  /** Exit code; 128 plus the number of the signal that ended the command. */
  readonly code: number;
  /** Name of the signal that a code above 128 stands for, also if the command chose the code; otherwise empty. */
  readonly signal: string;
}

/** The output of a command. */
export interface ExecOutput {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Buffer;
}

/** A command that runs inside a workload. */
export interface ExecProcess {
  /** The output until the end of the command. The command blocks if it is not read. */
  readonly output: AsyncIterable<ExecOutput>;
  /** Resolves when the command has ended. Rejects if its result can't be determined. */
  readonly exited: Promise<ExecExit>;
  /** Resolves when the command accepts more input, or reads none any more. */
  write(data: Buffer): Promise<void>;
  closeInput(): void;
  resize(size: TerminalSize): Promise<void>;
  /**
   * Signals the command and the descendants that the runtime finds: in a container those whose parents run, otherwise
   * the process group of the command, or the foreground process group of its terminal.
   */
  signal(name: NodeJS.Signals): Promise<void>;
  /**
   * Sends SIGHUP to the command and its descendants, and SIGKILL after 2 seconds. Those whose parent has ended, or that
   * have a process group of their own, may be missed.
   */
  kill(): void;
}
