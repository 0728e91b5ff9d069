import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from 'kedge';
import type { StopProgress, WorkloadState } from '../runtime.js';
import { readIfExists } from './process-table.js';

/** A killed process is gone within this time, unless the kernel holds it. */
const killMsMax = 5_000;
/** Looked at again this often although its end is told, in milliseconds: while it may end, and once killed. */
const checkMs = 5_000;
const killedCheckMs = 100;

interface StopRequest {
  /** Monotonic milliseconds. */
  readonly askedAt: number;
  readonly sent: NodeJS.Signals | undefined;
}

/** Stops of workloads that are under way, by run folder. The time of the request is in the folder. */
export class StopRequests {
  readonly #clock: Clock;
  readonly #requests = new Map<string, StopRequest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the step that is due. @throws Error when the process survives SIGKILL */
  async advance(
    directory: string,
    state: Extract<WorkloadState, { state: 'starting' | 'running' }>,
    graceMs: number,
  ): Promise<StopProgress> {
    const request = this.#requests.get(directory) ?? (await this.#ask(directory));
    const now = this.#clock.monotonic();
    const killAt = request.askedAt + graceMs;
    const wanted = now >= killAt ? 'SIGKILL' : 'SIGTERM';
    const pid = state.state === 'running' ? state.pid : undefined;
    if (request.sent === 'SIGKILL' && now >= killAt + killMsMax)
      throw new Error(`process ${pid ?? ''} survives SIGKILL: the kernel holds it`);
    const sends = pid !== undefined && request.sent !== wanted;
    if (sends) signalGroup(pid, wanted);
    this.#requests.set(directory, sends ? { ...request, sent: wanted } : request);
    const leftMs = wanted === 'SIGTERM' ? Math.min(killAt - now, checkMs) : killedCheckMs;
    return { type: 'stopping', checkInMs: pid === undefined ? killedCheckMs : leftMs };
  }

  /** The run is gone. */
  forget(directory: string): void {
    this.#requests.delete(directory);
  }

  /** A request of an earlier life of the daemon goes on with what is left of its grace. */
  async #ask(directory: string): Promise<StopRequest> {
    const file = join(directory, 'stop-requested');
    const now = this.#clock.monotonic();
    const askedBefore = Number((await readIfExists(file)) ?? 0);
    const passedMs = askedBefore > 0 ? Math.max(0, this.#clock.now() - askedBefore) : 0;
    if (!(askedBefore > 0)) await writeFile(file, String(this.#clock.now()));
    return { askedAt: now - passedMs, sent: undefined };
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // It ended meanwhile, which is what was wanted.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
