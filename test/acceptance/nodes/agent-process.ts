import { type ChildProcess, spawn } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from 'kedge/testing';
import type { AgentSettings } from './agent-child.js';
import { root } from '../daemon.js';

/** A free port at the time of the call, which a server can use again after it was killed. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** The program of an agent in a separate process. */
export class AgentProcess {
  readonly #settings: AgentSettings;
  #child: ChildProcess | undefined;
  #lines: string[] = [];

  constructor(settings: AgentSettings) {
    this.#settings = settings;
  }

  /** The log since the last {@link launch}. */
  get log(): string {
    return this.#lines.join('\n');
  }

  /** Starts the process without waiting. */
  launch(): ChildProcess {
    const program = join(root, 'test/dist/acceptance/nodes/agent-child.js');
    const child = spawn(process.execPath, [program, JSON.stringify(this.#settings)], {
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    this.#child = child;
    this.#lines = [];
    createInterface({ input: child.stderr }).on('line', (line) => this.#lines.push(line));
    return child;
  }

  /** Starts the process and waits until it is ready. @throws Error with its log if it ends before */
  async run(): Promise<void> {
    const child = this.launch();
    const isReady = (): boolean => this.log.includes('"msg":"ready"');
    await eventually('the agent to be ready', () => isReady() || child.exitCode !== null, 90_000);
    if (!isReady()) throw new Error(`the agent ended: ${this.log}`);
  }

  async end(signal: NodeJS.Signals): Promise<number | null | undefined> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return null;
    child.kill(signal);
    return this.ended();
  }

  /** Whether the process was started and has not ended. */
  get isAlive(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Resolves with the exit code when the process has ended: null after a signal, undefined if it was never started. */
  async ended(): Promise<number | null | undefined> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode;
    return new Promise((resolve) => child.on('close', (code) => resolve(code)));
  }
}
