import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readMountTable } from '@kedge/driver-sdk';
import { eventually } from 'kedge/testing';
import { interfacesOf } from '../leftovers/engine-networks.js';

/** The image that {@link RealEngine.start} creates: busybox and bash with root and a user 1000. */
export const busyboxImage = 'kedge-test/busybox:1';

/** Time limit of a command of the engine, milliseconds. */
const commandMs = 300_000;
/** Time limit of each step of the end of an engine, milliseconds: one that hangs must not outlast the hook that ends it. */
const endMs = 60_000;

/**
 * Why no real container engine can be started here; undefined if one can. In CI it must be undefined: a test
 * that needs an engine fails there instead of being skipped.
 */
function whyNoEngine(): string | undefined {
  if (process.getuid?.() !== 0) return 'a container engine needs root';
  for (const program of ['dockerd', 'containerd', 'runc', 'docker'])
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0)
      return `${program} is not installed (package docker.io)`;
  if (busyboxPath() === undefined) return 'busybox is not installed (package busybox-static)';
  return undefined;
}

/** Skips the suite with a message if no engine can be started; throws in CI. */
export function requireEngine(context: Mocha.Context): void {
  const why = whyNoEngine();
  if (why === undefined) return;
  if (process.env['CI']) throw new Error(why);
  console.log(`skipped: ${why}`);
  context.skip();
}

function busyboxPath(): string | undefined {
  const { stdout, status } = spawnSync('sh', ['-c', 'command -v busybox'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** Options of a real engine. */
export interface RealEngineOptions {
  /** Additional arguments of dockerd. */
  readonly args?: readonly string[];
  /** Whether containers survive a restart of dockerd. Default: true. */
  readonly liveRestore?: boolean;
}

/**
 * containerd and dockerd of this machine with separate sockets, data and cgroups. They do not change the
 * firewall and the routing of the machine. By default live-restore is on: containers survive dockerd.
 */
export class RealEngine {
  readonly directory: string;
  readonly #options: RealEngineOptions;
  readonly #cgroup: string;
  #containerd: ChildProcess | undefined;
  #dockerd: ChildProcess | undefined;

  private constructor(directory: string, options: RealEngineOptions) {
    this.directory = directory;
    this.#options = options;
    this.#cgroup = `kedge-test-${process.pid}-${directory.slice(-6)}`;
  }

  /** A running engine with {@link busyboxImage}. */
  static async start(options: RealEngineOptions = {}): Promise<RealEngine> {
    // Paths of sockets must be short.
    const engine = new RealEngine(await mkdtemp(join(tmpdir(), 'kedge-eng-')), options);
    try {
      await engine.#startContainerd();
      await engine.startDockerd();
      await engine.#makeBusybox();
      return engine;
    } catch (error) {
      await engine.stop();
      throw error;
    }
  }

  get socketPath(): string {
    return join(this.directory, 'docker.sock');
  }

  async #startContainerd(): Promise<void> {
    const config = join(this.directory, 'containerd.toml');
    const root = join(this.directory, 'containerd');
    await writeFile(
      config,
      [
        'version = 2',
        'disabled_plugins = ["io.containerd.grpc.v1.cri"]',
        `root = "${root}/root"`,
        `state = "${root}/state"`,
        '[grpc]',
        `address = "${this.#containerdSocket}"`,
        '',
      ].join('\n'),
    );
    this.#containerd = this.#spawn('containerd', ['--config', config]);
    await eventually('containerd to listen', () =>
      readdirSync(this.directory).includes('containerd.sock'),
    );
  }

  get #containerdSocket(): string {
    return join(this.directory, 'containerd.sock');
  }

  /** Starts dockerd, also after {@link killDockerd}. */
  async startDockerd(): Promise<void> {
    const { directory } = this;
    // Another process may have the pid by now.
    await rm(join(directory, 'docker.pid'), { force: true });
    this.#dockerd = this.#spawn('dockerd', [
      ...['--host', `unix://${this.socketPath}`],
      ...['--containerd', this.#containerdSocket],
      ...['--data-root', join(directory, 'data')],
      ...['--exec-root', join(directory, 'exec')],
      ...['--pidfile', join(directory, 'docker.pid')],
      ...['--cgroup-parent', `/${this.#cgroup}`],
      ...['--iptables=false', '--ip6tables=false', '--ip-forward=false', '--bridge=none'],
      ...(this.#options.liveRestore === false ? [] : ['--live-restore']),
      ...(this.#options.args ?? []),
    ]);
    const dockerd = this.#dockerd;
    await eventually('dockerd to answer', () => {
      if (dockerd.exitCode !== null) throw new Error(`dockerd ended:\n${this.logTail('dockerd')}`);
      return this.#run(['version'], 'ignore').status === 0;
    });
  }

  /** Ends dockerd: SIGKILL kills it, SIGTERM stops it gracefully. With live-restore, containers continue to run. */
  async killDockerd(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    await end(this.#dockerd, signal);
    this.#dockerd = undefined;
  }

  /** Runs the `docker` command line. @throws Error with its output */
  docker(...args: readonly string[]): string {
    return this.dockerWith('', ...args);
  }

  /** As {@link docker}, with standard input. */
  dockerWith(input: string, ...args: readonly string[]): string {
    const { status, stdout, stderr } = this.#run(args, 'pipe', input);
    if (status !== 0) throw new Error(`docker ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  }

  #run(
    args: readonly string[],
    stderr: 'ignore' | 'pipe',
    input = '',
    timeout = commandMs,
  ): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
    return spawnSync('docker', ['-H', `unix://${this.socketPath}`, ...args], {
      encoding: 'utf8',
      ...(input === '' ? {} : { input }),
      stdio: [input === '' ? 'ignore' : 'pipe', 'pipe', stderr],
      env: { PATH: process.env['PATH'], HOME: this.directory },
      // An engine that was killed amid a start may never answer for that container.
      timeout,
      killSignal: 'SIGKILL',
    });
  }

  /** The end of the log of `containerd` or `dockerd`. */
  logTail(program: 'containerd' | 'dockerd', characters = 3_000): string {
    const text = readFileSync(join(this.directory, `${program}.log`), 'utf8');
    return text.slice(-characters);
  }

  /** The containers, the processes of the engine and the ends of its logs, for the error of a test. */
  state(): string {
    const shown = this.#run(['ps', '--all', '--no-trunc'], 'pipe', '', endMs);
    const processes = execFileSync('ps', ['-eo', 'pid,ppid,stat,etimes,args'], {
      encoding: 'utf8',
    });
    return [
      ...[shown.stdout, shown.stderr],
      ...processes.split('\n').filter((line) => line.includes(this.directory)),
      ...['dockerd:', this.logTail('dockerd', 8_000), 'containerd:', this.logTail('containerd')],
    ].join('\n');
  }

  #spawn(program: 'containerd' | 'dockerd', args: readonly string[]): ChildProcess {
    const log = openSync(join(this.directory, `${program}.log`), 'a');
    try {
      return spawn(program, args, { stdio: ['ignore', log, log], cwd: '/' });
    } finally {
      closeSync(log);
    }
  }

  async #makeBusybox(): Promise<void> {
    const root = join(this.directory, 'busybox');
    for (const folder of ['bin', 'etc', 'tmp', 'dev', 'proc', 'sys', 'home'])
      await mkdir(join(root, folder), { recursive: true });
    const busybox = join(root, 'bin/busybox');
    await copyFile(busyboxPath() ?? '', busybox);
    await chmod(busybox, 0o755);
    await chmod(join(root, 'tmp'), 0o1777);
    const names = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n');
    for (const name of names)
      if (name !== 'busybox') await symlink('busybox', join(root, 'bin', name));
    await writeFile(
      join(root, 'etc/passwd'),
      'root:x:0:0:root:/:/bin/sh\nweb:x:1000:1000:web:/home:/bin/sh\n',
    );
    await writeFile(join(root, 'etc/group'), 'root:x:0:\nweb:x:1000:\n');
    await addProgram(root, 'bash');
    const tar = join(this.directory, 'busybox.tar');
    execFileSync('tar', ['-C', root, '-cf', tar, '.']);
    this.docker('import', '--change', 'ENV PATH=/bin', '--change', 'CMD ["sh"]', tar, busyboxImage);
    await rm(root, { recursive: true });
    await rm(tar);
  }

  /** A dockerd that was killed may leave shims of containers, which outlive containerd. */
  #killShims(): void {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        if (words.includes(this.#containerdSocket)) process.kill(Number(pid), 'SIGKILL');
      } catch {
        // It ended meanwhile.
      }
  }

  /** A dockerd that was killed may leave interfaces that it does not know at its next start. */
  #removeInterfaces(): void {
    for (const name of interfacesOf(this.directory)) spawnSync('ip', ['link', 'delete', name]);
  }

  /** Ends the engine with all containers, networks, mounts and cgroups. */
  async stop(): Promise<void> {
    // After a failed test dockerd may be killed while containers run.
    if (this.#containerd && !this.#dockerd) await this.startDockerd().catch(() => undefined);
    if (this.#dockerd) {
      const listed = this.#run(['ps', '--all', '--quiet'], 'ignore', '', endMs);
      const containers = listed.stdout.split('\n');
      const ids = containers.filter((id) => id !== '');
      if (ids.length > 0) this.#run(['rm', '--force', '--volumes', ...ids], 'ignore', '', endMs);
      this.#run(['network', 'prune', '--force'], 'ignore', '', endMs);
      await end(this.#dockerd, 'SIGTERM', endMs);
    }
    await end(this.#containerd, 'SIGTERM', endMs);
    this.#killShims();
    const below = (await readMountTable()).filter(({ target }) =>
      target.startsWith(`${this.directory}/`),
    );
    for (const { target } of below.reverse()) spawnSync('umount', ['-l', target]);
    this.#removeInterfaces();
    for (const hierarchy of [...readdirSync('/sys/fs/cgroup'), '.'])
      await eventually('the control groups of containers to be empty', () => {
        removeCgroup(join('/sys/fs/cgroup', hierarchy, this.#cgroup));
        return true;
      });
    await rm(this.directory, { recursive: true, force: true });
  }
}

/**
 * Adds a program of this machine with its libraries, such as bash: busybox is linked statically, and can't resolve names.
 */
export async function addProgram(root: string, name: string): Promise<void> {
  const path = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
  await copyFile(path, join(root, 'bin', name));
  const libraries = execFileSync('ldd', [path], { encoding: 'utf8' }).matchAll(/(\/\S+) \(/g);
  for (const [, library = ''] of libraries) {
    await mkdir(join(root, dirname(library)), { recursive: true });
    await copyFile(library, join(root, library));
  }
}

/**
 * Removes the folders of a cgroup from the innermost, with processes that a killed engine left in them: their files
 * can't be removed.
 */
function removeCgroup(path: string): void {
  try {
    for (const pid of readFileSync(join(path, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean))
      process.kill(Number(pid), 'SIGKILL');
    for (const entry of readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) removeCgroup(join(path, entry.name));
    rmdirSync(path);
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR', 'ENODEV'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error;
  }
}

/** Sends the signal and waits for the exit; with a time limit, kills the process once it has passed. */
async function end(
  child: ChildProcess | undefined,
  signal: NodeJS.Signals,
  limitMs?: number,
): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  const timer =
    limitMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), limitMs);
  await exited;
  clearTimeout(timer);
}
