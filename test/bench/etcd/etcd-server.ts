import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from 'kedge/testing';

/** Why the benchmarks against etcd can't run; undefined if they can. */
export function missingForEtcd(): string | undefined {
  try {
    execFileSync('etcd', ['--version'], { stdio: 'ignore' });
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'skipped: needs etcd and a Go client (Debian: etcd-server golang-go golang-etcd-server-dev golang-google-grpc-dev)';
  }
}

/** The version of etcd, for the notes of a benchmark. */
export function etcdVersion(): string {
  return /[\d.]+/.exec(execFileSync('etcd', ['--version'], { encoding: 'utf8' }))?.[0] ?? '';
}

/**
 * Compiles Go sources of this folder with Debian's packages; returns the program's path. GOCACHE names a folder that
 * several compilations share; without it, each compiles all packages again.
 */
export function buildGo(directory: string, sources: readonly string[]): string {
  const program = join(directory, 'load');
  const files = sources.map((name) =>
    fileURLToPath(new URL(`../../../bench/etcd/${name}`, import.meta.url)),
  );
  execFileSync('go', ['build', '-o', program, ...files], {
    env: {
      ...process.env,
      GO111MODULE: 'off',
      GOPATH: '/usr/share/gocode',
      GOCACHE: process.env['GOCACHE'] ?? join(directory, 'cache'),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return program;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** A running etcd on free ports, with its defaults except for a larger quota. Automatic compaction is off by default. */
export class EtcdServer {
  readonly address: string;
  readonly #process: ChildProcess;

  private constructor(address: string, child: ChildProcess) {
    this.address = address;
    this.#process = child;
  }

  /** Starts one with its files below `directory`, and waits until it is healthy. */
  static async start(directory: string): Promise<EtcdServer> {
    const [port, peerPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    const peer = `http://127.0.0.1:${peerPort}`;
    const child = spawn(
      'etcd',
      [
        ...['--data-dir', join(directory, 'etcd'), '--name', 'bench', '--log-level', 'error'],
        ...['--listen-client-urls', url, '--advertise-client-urls', url],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
        ...['--initial-cluster', `bench=${peer}`, '--quota-backend-bytes', '8589934592'],
      ],
      { stdio: 'ignore' },
    );
    const etcd = new EtcdServer(`127.0.0.1:${port}`, child);
    try {
      await eventually('etcd', async () => (await fetch(`${url}/health`)).ok, 20_000);
      return etcd;
    } catch (error) {
      etcd.kill();
      throw error;
    }
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }
}
