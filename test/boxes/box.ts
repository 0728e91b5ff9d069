import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { WorkloadSpec, WorkloadState } from '@kedge/controllers';
import { root } from '../acceptance/daemon.js';
import { requireDevices } from '../drivers/devices.js';
import type { BoxAnswer, BoxDaemonOptions, BoxOrder } from './box-daemon.js';

const program = fileURLToPath(new URL('box-daemon.js', import.meta.url));
const nobody = 65534;

/** The user of a daemon. */
export type Who = 'root' | 'an ordinary user';
export const everybody: readonly Who[] = ['root', 'an ordinary user'];
export const uidOf = (who: Who): number => (who === 'root' ? 0 : nobody);
export const boxId = '0f6cbd92-1c31-4a3a-9c0e-444444444444';

/** A change of a script of the supervisor. */
export interface SupervisorChange {
  readonly file: 'supervise.sh' | 'enter.sh' | 'enter-root.sh' | 'enter-volumes.sh';
  readonly from: string;
  readonly to: string;
}

/** Creates a folder with the supervisor's scripts, each change applied once, and returns its path. */
export async function changedSupervisor(changes: readonly SupervisorChange[]): Promise<string> {
  const folder = await mkdtemp('/srv/kedge-supervisor-');
  await chmod(folder, 0o755);
  await cp(join(root, 'controllers/agent/supervisor'), folder, { recursive: true });
  for (const { file, from, to } of changes) {
    const text = await readFile(join(folder, file), 'utf8');
    expect(text.split(from), from).to.have.length(2);
    await writeFile(
      join(folder, file),
      text.replace(from, () => to),
    );
  }
  return folder;
}

/** A process that runs workloads like a daemon, as root or as an ordinary user. */
export class BoxDaemon {
  readonly base: string;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(base: string, child: ChildProcess) {
    this.base = base;
    this.#child = child;
    if (!child.stdout) throw new TypeError('the daemon has no output');
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /**
   * @param more options of the daemon, or a function of its folder that returns them
   * @param prefix program and arguments that start the daemon's program, such as unshare
   */
  static async start(
    who: Who,
    more: Partial<BoxDaemonOptions> | ((base: string) => Partial<BoxDaemonOptions>) = {},
    prefix: readonly string[] = [],
  ): Promise<BoxDaemon> {
    const base = await mkdtemp('/srv/kedge-box-');
    await chmod(base, 0o755);
    const uid = uidOf(who);
    for (const name of ['data', 'volume', 'shared', 'shared/own', 'shared/other']) {
      await mkdir(join(base, name));
      await chown(join(base, name), uid, uid);
    }
    const options: BoxDaemonOptions = {
      directory: join(base, 'data/instances'),
      hiddenDirectories: [join(base, 'data')],
      volumeDirectories: [join(base, 'shared')],
      ...(typeof more === 'function' ? more(base) : more),
    };
    const as = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--'];
    const args = [...as, process.execPath, program, JSON.stringify(options)];
    const [command = '', ...words] = [...prefix, 'setpriv', ...args];
    const child = spawn(command, words, { cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
    return new BoxDaemon(base, child);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async ask(order: BoxOrder): Promise<BoxAnswer> {
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
    const line: IteratorResult<string, unknown> = await this.#lines.next();
    if (line.done) throw new Error('the daemon ended');
    return JSON.parse(line.value) as BoxAnswer;
  }

  async succeed(order: BoxOrder): Promise<BoxAnswer> {
    const answer = await this.ask(order);
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  /** Starts a workload and waits until it runs or has ended. */
  async run(command: readonly string[], more: Partial<WorkloadSpec> = {}): Promise<WorkloadState> {
    const spec = { id: boxId, command, env: {}, workingDir: '/', mounts: [], ...more };
    await this.succeed({ type: 'start', spec });
    return this.until((state) => state.state !== 'starting');
  }

  /** @param wanted the awaited condition of the workload's state */
  until(wanted: (state: WorkloadState) => boolean): Promise<WorkloadState> {
    return eventually('the state of the workload', async () => {
      const { state } = await this.succeed({ type: 'observe', id: boxId });
      return state && wanted(state) ? state : undefined;
    });
  }

  ended(): Promise<WorkloadState> {
    return this.until(({ state }) => state === 'exited' || state === 'startFailed');
  }

  exec(command: readonly string[], terminal = false): Promise<BoxAnswer> {
    return this.succeed({ type: 'exec', id: boxId, command, terminal });
  }

  log(): Promise<string> {
    return readFile(join(this.base, 'data/instances', boxId, 'output.log'), 'utf8');
  }

  /** Lets every user of the machine enter the folders of the runs. */
  async openRuns(): Promise<void> {
    const runs = join(this.base, 'data/instances', boxId);
    for (const path of [join(this.base, 'data/instances'), runs, join(runs, 'run-1')])
      await chmod(path, 0o755);
  }

  /** Ends the workload and the daemon, and removes their files. */
  async close(): Promise<void> {
    await this.succeed({ type: 'requestStop', id: boxId, graceMs: 0 });
    await this.until(({ state }) => state !== 'running' && state !== 'starting');
    const gone = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await gone;
    await rm(this.base, { recursive: true, force: true });
  }
}

/**
 * Starts a daemon before each test of the calling suite and ends it afterwards; skips the suite where block devices are
 * missing. A test that replaces the daemon sets another one.
 */
export function daemonOfEach(who: Who): { daemon: BoxDaemon } {
  const current = {} as { daemon: BoxDaemon };
  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    current.daemon = await BoxDaemon.start(who);
  });
  afterEach(() => current.daemon.close());
  return current;
}
