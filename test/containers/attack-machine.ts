import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addProgram, busyboxImage, type RealEngine } from './engine.js';

/** The image of the attackers: busybox, bash and perl, and a setuid program. */
export const attackerImage = 'kedge-test/attacker:1';

/** Creates {@link attackerImage}. */
export async function makeAttackerImage(engine: RealEngine): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kedge-attacker-'));
  try {
    await mkdir(join(folder, 'bin'));
    await addProgram(folder, 'perl');
    await addSetuid(join(folder, 'bin/suid'));
    const container = engine.docker('create', busyboxImage);
    engine.docker('cp', '--archive', `${folder}/.`, `${container}:/`);
    engine.docker('commit', container, attackerImage);
    engine.docker('rm', container);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Writes a setuid program of root, which is a bash. */
export async function addSetuid(path: string): Promise<void> {
  await copyFile('/bin/bash', path);
  await chmod(path, 0o4755);
}

/** Creates a System V object and returns its id. */
function makeIpc(options: string): string {
  const output = execFileSync('ipcmk', [...options.split(' '), '-p', '0644']).toString();
  return /\d+/.exec(output)?.[0] ?? '';
}

/** Resources of the machine that no container may reach: a process, listeners, shared memory and System V objects. */
export class AttackMachine {
  /** Variables of attack scripts. */
  readonly variables: Readonly<Record<string, string>>;
  readonly #victim: ChildProcess;
  readonly #servers: readonly Server[];
  readonly #shared: string;

  private constructor(victim: ChildProcess, servers: readonly Server[], shared: string) {
    this.#victim = victim;
    this.#servers = servers;
    this.#shared = shared;
    const { port = 0 } = (servers[0]?.address() ?? {}) as Partial<AddressInfo>;
    const [SEGMENT = '', QUEUE = '', SEMAPHORES = ''] = ['-M 64', '-Q', '-S 1'].map(makeIpc);
    const VICTIM = String(victim.pid);
    this.variables = {
      ...{ VICTIM, PORT: String(port), ABSTRACT: abstractName, SHARED: shared },
      ...{ SEGMENT, QUEUE, SEMAPHORES },
    };
  }

  static async start(): Promise<AttackMachine> {
    const hold = ['-c', 'trap : USR1; while :; do sleep 1; done', '424242'];
    const victim = spawn('/bin/sh', hold, { stdio: 'ignore' });
    const servers = [
      createServer((socket) => socket.end('hello\n')).listen(0, '127.0.0.1'),
      createServer().listen({ path: `\0${abstractName}` }),
    ];
    await Promise.all(servers.map((server) => once(server, 'listening')));
    const shared = `/dev/shm/kedge-attack-${process.pid}`;
    await writeFile(shared, 'shared');
    await chmod(shared, 0o644);
    return new AttackMachine(victim, servers, shared);
  }

  async stop(): Promise<void> {
    this.#victim.kill('SIGKILL');
    for (const server of this.#servers) server.close();
    await rm(this.#shared, { force: true });
    const { SEGMENT = '', QUEUE = '', SEMAPHORES = '' } = this.variables;
    execFileSync('ipcrm', ['-m', SEGMENT, '-q', QUEUE, '-s', SEMAPHORES]);
  }
}

const abstractName = `kedge-attack-${process.pid}`;
