import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from 'kedge';
import { processUnkillable } from '../../messages/starts.js';
import { type ControllerPolicy, defaultPolicy } from '../../policy/policy.js';
import { ignoreFullDisk } from '../runtime/full-disk.js';
import type { StopProgress, WorkloadState } from '../runtime/runtime.js';
import { isAlive, readIfExists, readProcessId } from '../launch/process-table.js';

/** A killed process ends within this time, unless the kernel blocks it. */
const killMsMax = 5_000;

/** Probe intervals of a stopping process, in addition to the notification of its end. */
export type ProcessWaits = Pick<ControllerPolicy, 'processPollMs' | 'stoppingProbeMs'>;

interface StopRequest {
  /** The folder of the run. */
  readonly directory: string;
  /** Time of the request, monotonic milliseconds. */
  readonly askedAt: number;
  /** The last signal that this process has sent. */
  readonly sent: 'SIGTERM' | 'SIGKILL' | undefined;
  /** Time of SIGKILL, monotonic milliseconds. */
  readonly killedAt: number | undefined;
}

/**
 * Stops of workloads in progress, by the folder of the workload. The folder of its run records the time of the request.
 * After the removal of a workload its run numbers start at 1 again, so that a later run may have the same folder.
 */
export class StopRequests {
  readonly #clock: Clock;
  readonly #waits: ProcessWaits;
  readonly #requests = new Map<string, StopRequest>();

  constructor(clock: Clock, waits: ProcessWaits = defaultPolicy) {
    this.#clock = clock;
    this.#waits = waits;
  }

  /**
   * Sends the signal that is due, and returns when to call it again.
   * @param directory folder of the run, in the folder of its workload
   * @throws Error if the process survives SIGKILL, or if the request can't be recorded although the disk is not full
   */
  async advance(
    directory: string,
    state: Extract<WorkloadState, { state: 'starting' | 'running' }>,
    graceMs: number,
  ): Promise<StopProgress> {
    const request = this.#known(directory) ?? (await this.#ask(directory));
    const now = this.#clock.monotonic();
    const leftMs = request.askedAt + graceMs - now;
    const pid = state.state === 'running' ? state.pid : undefined;
    const next =
      pid === undefined
        ? startKilled(request, directory, leftMs, now)
        : signalled(request, targetOf(directory, pid), leftMs, now);
    this.#requests.set(dirname(directory), next);
    const { processPollMs, stoppingProbeMs } = this.#waits;
    const waitsMs =
      pid === undefined || leftMs <= 0 ? processPollMs : Math.min(leftMs, stoppingProbeMs);
    return { type: 'stopping', checkInMs: waitsMs, sent: next.sent };
  }

  /** Whether SIGKILL was sent to a run. */
  isKilled(directory: string): boolean {
    return this.#known(directory)?.killedAt !== undefined;
  }

  /** Forgets the stop of a workload that no longer runs. @param workload its folder */
  forget(workload: string): void {
    this.#requests.delete(workload);
  }

  #known(directory: string): StopRequest | undefined {
    const request = this.#requests.get(dirname(directory));
    return request?.directory === directory ? request : undefined;
  }

  /** Reads or records the request. A request of an earlier daemon process continues with its remaining grace period. */
  async #ask(directory: string): Promise<StopRequest> {
    const file = join(directory, 'stop-requested');
    const now = this.#clock.monotonic();
    const askedBefore = Number(readIfExists(file) ?? 0);
    const passedMs = askedBefore > 0 ? Math.max(0, this.#clock.now() - askedBefore) : 0;
    if (!(askedBefore > 0))
      // Only later observations of the end and the next process of the daemon need the record. On a full disk a workload
      // must stop, too.
      await writeFile(file, String(this.#clock.now())).catch(ignoreFullDisk);
    return { directory, askedAt: now - passedMs, sent: undefined, killedAt: undefined };
  }
}

/** The process to signal, or the negative id of its group: process 1 of a sandbox forwards signals. */
function targetOf(directory: string, pid: number): number {
  // Workloads of earlier releases lead their process group.
  return readProcessId(join(directory, 'pid'))?.boxed === true ? pid : -pid;
}

/**
 * Sends SIGKILL to the process group of a supervisor whose start has not ended after the grace period, for example
 * because a mount hangs. The workload in its sandbox ends with it.
 */
function startKilled(
  request: StopRequest,
  directory: string,
  leftMs: number,
  now: number,
): StopRequest {
  if (leftMs > 0) return request;
  const supervisor = readProcessId(join(directory, 'claimed', 'supervisor'));
  return supervisor && isAlive(supervisor)
    ? signalled(request, -supervisor.pid, leftMs, now)
    : request;
}

/**
 * Sends the due signal: SIGTERM once, and SIGKILL once after the grace period.
 * @throws Error if the process survives SIGKILL
 */
function signalled(request: StopRequest, target: number, leftMs: number, now: number): StopRequest {
  const { killedAt } = request;
  if (killedAt !== undefined) {
    if (now < killedAt + killMsMax) return request;
    throw new Error(
      `${processUnkillable.format({ pid: String(Math.abs(target)) })}: it is blocked in the kernel`,
    );
  }
  if (leftMs <= 0) {
    signal(target, 'SIGKILL');
    return { ...request, sent: 'SIGKILL', killedAt: now };
  }
  if (request.sent) return request;
  signal(target, 'SIGTERM');
  return { ...request, sent: 'SIGTERM' };
}

/** Sends a signal; no-op if the process has ended. @param target a pid, or a negative process group id */
function signal(target: number, name: NodeJS.Signals): void {
  try {
    process.kill(target, name);
  } catch (error) {
    // It ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
