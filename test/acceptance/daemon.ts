import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually } from 'kedge/testing';
import { noteCluster } from '../leftovers/own-clusters.js';

/** The project's root. */
export const root = fileURLToPath(new URL('../../..', import.meta.url));
const kedged = join(root, 'cmd/bin/kedged.mjs');
const kedge = join(root, 'cmd/bin/kedge.mjs');
/** Characters of the log in the error of a daemon that did not start. */
const logReported = 1_500;

/** An answer of the REST API. */
export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** The result of a finished program. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface ReadyLine {
  readonly grpc: number;
  readonly rest: number;
  readonly ops: number;
  readonly sinceStartMs: number;
  /** Absent in earlier releases. */
  readonly cluster?: string;
}

/** Options of a daemon under test. */
export interface DaemonOptions {
  readonly arguments?: readonly string[];
  /** The main file of a kedged with other drivers and the same addresses. Default: that of this project. */
  readonly program?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Program and arguments that start the daemon's program, such as setpriv. */
  readonly prefix?: readonly string[];
  /** Whether to create the first token. Default: true, except with the argument --local. */
  readonly bootstrap?: boolean;
  /** The directory in which its files are created. Default: that of temporary files, which workloads do not see. */
  readonly parent?: string;
  /** Runs before the first start with the path of the data directory, which does not exist yet. */
  readonly prepare?: (data: string) => Promise<void>;
}

/** Runs a program in the project's root to its end; `env` is added to the environment of this process. */
export function finish(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env: { ...process.env, ...env } });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data) => (stdout += String(data)));
    child.stderr.on('data', (data) => (stderr += String(data)));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** A real kedged on a separate data directory and free ports. */
export class TestDaemon {
  readonly home: string;
  readonly data: string;
  readonly #options: DaemonOptions;
  #child: ChildProcess | undefined;
  readonly #lines: string[] = [];
  #ready: ReadyLine | undefined;
  token = '';

  private constructor(home: string, options: DaemonOptions) {
    this.home = home;
    this.data = join(home, 'data');
    this.#options = options;
  }

  /** Starts a daemon, and creates its first token unless the options exclude that. */
  static async start(options: DaemonOptions = {}): Promise<TestDaemon> {
    const daemon = new TestDaemon(
      await mkdtemp(join(options.parent ?? tmpdir(), 'kedge-test-')),
      options,
    );
    await options.prepare?.(daemon.data);
    await daemon.run();
    if (options.arguments?.includes('--local') || options.bootstrap === false) return daemon;
    const answer = await daemon.rest('POST', '/v1/admin/bootstrap');
    daemon.token = String(answer.body.token);
    return daemon;
  }

  get environment(): Record<string, string> {
    return {
      XDG_CONFIG_HOME: join(this.home, 'config'),
      NO_COLOR: '1',
      KEDGE_STORAGE_HOST_PATH_ALLOWLIST: join(this.home, 'host'),
      KEDGE_STORAGE_ALLOW_CREATE_MISSING: 'true',
      // Excludes the engine of the machine.
      KEDGE_RUNTIME_DOCKER_SOCKET: join(this.home, 'no-engine.sock'),
      // Excludes the real providers: nothing listens at this address. A configuration file must name an endpoint.
      ...(this.#options.arguments?.includes('--config')
        ? {}
        : {
            KEDGE_DRIVERS_CLOUD1_VOLUME_ENDPOINT: 'http://127.0.0.1:9',
            KEDGE_DRIVERS_CLOUD2_VOLUME_ENDPOINT: 'http://127.0.0.1:9',
          }),
      ...this.#options.environment,
    };
  }

  /** Program and arguments of the daemon. */
  arguments({ grpc, rest }: { readonly grpc: string; readonly rest: string }): string[] {
    const on = (port: string): string => `127.0.0.1:${port}`;
    const addresses = [
      ...['--grpc-address', on(grpc)],
      ...['--rest-address', on(rest)],
      ...['--ops-address', on('0')],
    ];
    return [
      this.#options.program ?? kedged,
      '--data-directory',
      this.data,
      ...addresses,
      ...(this.#options.arguments ?? []),
    ];
  }

  get log(): string {
    return this.#lines.join('\n');
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get startUpMs(): number {
    return this.#ready?.sinceStartMs ?? 0;
  }

  get grpcAddress(): string {
    return `127.0.0.1:${this.#ready?.grpc ?? 0}`;
  }

  get restAddress(): string {
    return `127.0.0.1:${this.#ready?.rest ?? 0}`;
  }

  get opsAddress(): string {
    return `127.0.0.1:${this.#ready?.ops ?? 0}`;
  }

  /** Starts the process and waits until it is ready; on free ports unless some are given. */
  async run(
    ports: { readonly grpc: string; readonly rest: string } = { grpc: '0', rest: '0' },
  ): Promise<void> {
    const [command = '', ...args] = [
      ...(this.#options.prefix ?? []),
      process.execPath,
      ...this.arguments(ports),
    ];
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...this.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#ready = undefined;
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.#lines.push(line);
      // With NODE_DEBUG, half a line of Node.js may stand before it.
      const [ready] = /\{"level".*"msg":"ready".*/.exec(line) ?? [];
      if (ready === undefined) return;
      this.#ready = JSON.parse(ready) as ReadyLine;
      if (this.#ready.cluster !== undefined) noteCluster(this.#ready.cluster);
    });
    createInterface({ input: child.stdout }).on('line', (line) => this.#lines.push(line));
    await eventually(
      'kedged to be ready',
      () => this.#ready !== undefined || child.exitCode !== null,
      90_000,
    ).catch((error: unknown) => {
      // A daemon that failed to start has no other owner that disposes of it.
      child.kill('SIGKILL');
      throw new Error(`${String(error)}\n${this.log}`, { cause: error });
    });
    // The cause is at the end, and reports of several suites cut long messages.
    if (!this.#ready)
      throw new Error(
        `kedged ended with exit code ${child.exitCode}: ${this.log.slice(-logReported)}`,
      );
  }

  /** Ends the process with a signal; resolves to its exit code, or null if a signal ended it or it had ended before. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return null;
    const ended = new Promise<number | null>((resolve) => {
      child.on('close', (code) => resolve(code));
    });
    child.kill(signal);
    return ended;
  }

  /** Resolves when the API answers with any status, for example after a restart. */
  async answering(): Promise<void> {
    await eventually('kedged to answer', async () => (await this.rest('GET', '/')).status > 0);
  }

  /** Kills the daemon with SIGKILL and starts it again. */
  async crash(): Promise<void> {
    await this.end('SIGKILL');
    await this.run();
  }

  /** Stops the daemon with SIGTERM and removes its files. */
  async dispose(): Promise<void> {
    await this.end('SIGTERM');
    await rm(this.home, { recursive: true, force: true });
  }

  /** Makes one REST call; without a token if `token` is null. */
  async rest(
    method: string,
    path: string,
    body?: unknown,
    token: string | null = this.token,
  ): Promise<Answer> {
    const response = await fetch(`http://${this.restAddress}${path}`, {
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: parse(text) };
  }

  /** Makes a REST call and returns the body of its answer. @throws Error unless the status is 200 */
  async ok(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const answer = await this.rest(method, path, body);
    if (answer.status !== 200)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Items of a list. */
  async list(path: string): Promise<Record<string, unknown>[]> {
    return (await this.ok('GET', path)).items as Record<string, unknown>[];
  }

  /** Server-sent events of a path until `enough` returns true, the stream ends, or the connection breaks. */
  async events(
    path: string,
    lastEventId: string | undefined,
    enough: (events: readonly SseEvent[]) => boolean,
  ): Promise<SseEvent[]> {
    const stop = new AbortController();
    const response = await fetch(`http://${this.restAddress}${path}`, {
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
      signal: stop.signal,
    });
    const events: SseEvent[] = [];
    let text = '';
    try {
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const event = parseEvent(text.slice(0, end));
          text = text.slice(end + 2);
          if (event) events.push(event);
        }
        if (enough(events)) break;
      }
    } catch {
      // The daemon was killed: the events so far are the answer.
    }
    stop.abort();
    return events;
  }

  /** The command line against this daemon. */
  cli(...args: string[]): Promise<Finished> {
    return finish(process.execPath, [kedge, ...args], this.cliEnvironment);
  }

  get cliEnvironment(): Record<string, string> {
    return { ...this.environment, KEDGE_SERVER: this.grpcAddress, KEDGE_TOKEN: this.token };
  }
}

/** One server-sent event. */
export interface SseEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: Record<string, unknown>;
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { text };
  }
}

function parseEvent(block: string): SseEvent | undefined {
  const fields = new Map(
    block
      .split('\n')
      .filter((line) => !line.startsWith(':'))
      .map((line): [string, string] => {
        const colon = line.indexOf(': ');
        return [line.slice(0, colon), line.slice(colon + 2)];
      }),
  );
  const data = fields.get('data');
  if (data === undefined) return undefined;
  return { id: fields.get('id'), event: fields.get('event'), data: parse(data) };
}

/** A local-host volume and a service that runs `script` with it mounted at /data. */
export function workload(
  daemon: TestDaemon,
  name: string,
  script: string,
): { readonly volume: object; readonly service: object } {
  return {
    volume: {
      name,
      storageClassName: 'local-host',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      parameters: { hostPath: join(daemon.home, 'host', name), createIfMissing: 'true' },
    },
    service: {
      name,
      runtime: 'process',
      command: ['/bin/sh', '-c', script],
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'data', mountPath: '/data', claim: { name } }],
    },
  };
}
