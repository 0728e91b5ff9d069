/** Size of a terminal in characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A command to run inside a workload. */
export interface ExecSpec {
  readonly command: readonly string[];
  /** Set: with a terminal of this size; output and errors are then one stream. */
  readonly terminal: TerminalSize | undefined;
}

/** The result of a command. */
export interface ExecExit {
  /** 128 plus its number when a signal ended it. */
  readonly code: number;
  /** Name of the signal that ended it, or empty. */
  readonly signal: string;
}

/** The output of a command. */
export interface ExecOutput {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Buffer;
}

/** A command that runs inside a workload. */
export interface ExecProcess {
  /** The output until the command ended; not reading blocks the command. */
  readonly output: AsyncIterable<ExecOutput>;
  readonly exited: Promise<ExecExit>;
  /** Resolves when the command accepts more input. */
  write(data: Buffer): Promise<void>;
  closeInput(): void;
  resize(size: TerminalSize): Promise<void>;
  /** To the command and its children. */
  signal(name: NodeJS.Signals): Promise<void>;
  /** Ends it and all its children. */
  kill(): void;
}
