import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from 'kedge/testing';
import type { RealEngine } from './engine.js';

/** The user of a {@link RealRegistry} with a password. */
export const registryUser = { username: 'kedge', password: 's3cret' } as const;
/** The line of an htpasswd file; docker-registry reads bcrypt only. */
const htpasswd = `${registryUser.username}:$2b$04$xp2F.qOGIYdGE6cXRNecqexWcfBegc82HiyAO4r3NOyJ2jH0Dr3PK\n`;

/** Skips the suite with a message if there is no docker-registry; throws in CI. */
export function requireRegistry(context: Mocha.Context): void {
  if (spawnSync('sh', ['-c', 'command -v docker-registry']).status === 0) return;
  const why = 'docker-registry is not installed (package docker-registry)';
  if (process.env['CI']) throw new Error(why);
  console.log(`skipped: ${why}`);
  context.skip();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return address.port;
}

/** Debian's docker-registry on a free port of this machine, with or without a password. */
export class RealRegistry {
  /** `127.0.0.1:<port>`, which engines call without TLS. */
  readonly host: string;
  readonly #directory: string;
  readonly #process: ChildProcess;

  private constructor(host: string, directory: string, process: ChildProcess) {
    this.host = host;
    this.#directory = directory;
    this.#process = process;
  }

  /** @param options password true: only {@link registryUser} may push and pull */
  static async start({ password }: { readonly password: boolean }): Promise<RealRegistry> {
    const directory = await mkdtemp(join(tmpdir(), 'kedge-registry-'));
    const host = `127.0.0.1:${await freePort()}`;
    await writeFile(join(directory, 'htpasswd'), htpasswd);
    const config = {
      version: '0.1',
      log: { level: 'warn' },
      storage: { filesystem: { rootdirectory: join(directory, 'data') } },
      http: { addr: host },
      ...(password && {
        auth: { htpasswd: { realm: 'kedge', path: join(directory, 'htpasswd') } },
      }),
    };
    // YAML contains JSON.
    await writeFile(join(directory, 'config.yml'), JSON.stringify(config));
    const log = openSync(join(directory, 'log'), 'a');
    const args = ['serve', join(directory, 'config.yml')];
    const child = spawn('docker-registry', args, { stdio: ['ignore', log, log] });
    closeSync(log);
    await eventually('the registry to answer', async () => {
      if (child.exitCode !== null)
        throw new Error(`docker-registry ended:\n${readFileSync(join(directory, 'log'), 'utf8')}`);
      const answer = await fetch(`http://${host}/v2/`).catch(() => undefined);
      return answer !== undefined;
    });
    return new RealRegistry(host, directory, child);
  }

  /** Pushes an image of an engine under a name in this registry, and removes it from the engine. Returns the name. */
  push(engine: RealEngine, image: string, name: string): string {
    const full = `${this.host}/${name}`;
    const { username, password } = registryUser;
    engine.docker('login', '--username', username, '--password', password, this.host);
    engine.docker('tag', image, full);
    engine.docker('push', full);
    engine.docker('rmi', full);
    return full;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) {
      const ended = once(this.#process, 'exit');
      this.#process.kill('SIGKILL');
      await ended;
    }
    await rm(this.#directory, { recursive: true, force: true });
  }
}
