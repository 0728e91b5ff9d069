import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';

/** Bytes of the text of each object. */
export const valueBytes = 1_024;

/** Names of the sources of the load client, for {@link buildGo}. */
export const loadSources = ['api-load', 'http2-client', 'servers'].map(
  (name) => `api-load/${name}.go`,
);

/** What the load client measured; times in milliseconds. */
export interface LoadResult {
  readonly count: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

/** A process that makes calls to one server, a command at a time. */
export class ApiLoad {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #lines: Interface;
  readonly #answers: AsyncIterator<string>;

  constructor(program: string, server: 'kedged' | 'etcd', address: string, token = '') {
    this.#process = spawn(program, [server, address, String(valueBytes)], {
      env: { ...process.env, KEDGE_TOKEN: token },
    });
    this.#process.stderr.pipe(process.stderr);
    this.#lines = createInterface({ input: this.#process.stdout });
    this.#answers = this.#lines[Symbol.asyncIterator]();
  }

  /** @throws Error if the client ended, which it does at a refused call */
  async run(command: string): Promise<LoadResult> {
    this.#process.stdin.write(`${command}\n`);
    const { value, done } = (await this.#answers.next()) as IteratorResult<string, undefined>;
    if (done === true) throw new Error(`the load client ended at "${command}"`);
    return JSON.parse(value) as LoadResult;
  }

  end(): void {
    this.#process.stdin.end();
  }
}
