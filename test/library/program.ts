import { type ChildProcess, spawn } from 'node:child_process';
import { eventually } from 'kedge/testing';

/** The exit of a program. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program in a separate process with its output so far. */
export class Program implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly ended: Promise<ProgramEnd>;
  #end: ProgramEnd | undefined;
  output = '';

  constructor(file: string, args: readonly string[], cwd?: string) {
    const options = { cwd, stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'] };
    const child = spawn(process.execPath, [file, ...args], options);
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes) => (this.output += String(bytes)));
    this.ended = new Promise((resolve) =>
      child.once('close', (code, signal) => {
        this.#end = { code, signal };
        resolve(this.#end);
      }),
    );
  }

  /** Resolves once it has printed `text`; fails if it ends before. */
  async prints(text: string): Promise<void> {
    const seen = (): boolean => this.output.includes(text);
    await eventually(`"${text}" in ${JSON.stringify(this.output)}`, () => seen() || this.#end);
    if (!seen())
      throw new Error(`ended ${JSON.stringify(this.#end)} without "${text}": ${this.output}`);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}

/** A program of a page with its expected output. */
export interface Example {
  readonly code: string;
  readonly prints: string | undefined;
}

/**
 * Runs the compiled program of a page to its end, and returns its output. A program that contains
 * `await manager.run()` receives SIGTERM after the expected output.
 * @throws Error if it exits with another code than 0
 */
export async function runExample(file: string, cwd: string, example: Example): Promise<string> {
  await using program = new Program(file, [], cwd);
  if (example.code.includes('await manager.run()')) {
    await program.prints(example.prints ?? '');
    program.kill('SIGTERM');
  }
  const { code, signal } = await program.ended;
  if (code !== 0) throw new Error(`ended with ${code ?? signal}: ${program.output}`);
  return program.output;
}
