import type { RunStart } from '../../log/runs.js';
import type { ExecProcess, ExecSpec } from './exec.js';

/** A directory that appears in the workload. */
export interface WorkloadMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
  /** Directory inside the source, whose path has no symbolic links. */
  readonly subPath?: string;
}

/** User and capabilities of a workload, from its service. */
export interface WorkloadRights {
  readonly user?: string;
  readonly capabilities?: readonly string[];
}

/** The specification of a workload. */
export interface WorkloadSpec extends WorkloadRights {
  /** The instance's uid: no two workloads share one. */
  readonly id: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
  readonly mounts: readonly WorkloadMount[];
}

/** The state of a workload. Runs are counted from 1. */
export type WorkloadState =
  | { readonly state: 'absent' }
  | { readonly state: 'starting'; readonly run: number }
  /** This run was not started and never will be. */
  | { readonly state: 'startFailed'; readonly run: number; readonly message: string }
  | {
      readonly state: 'running';
      readonly run: number;
      readonly pid: number;
      /** Milliseconds since the epoch. */
      readonly startedAt: number;
    }
  | {
      readonly state: 'exited';
      readonly run: number;
      /** Undefined when its supervisor died too (the machine went down). */
      readonly exitCode: number | undefined;
      /** Why its command did not run; absent if it ran. */
      readonly refused?: string;
      readonly startedAt: number;
      readonly exitedAt: number;
      /** True if the agent requested it. */
      readonly requested: boolean;
    };

/** How far a stop is. */
export type StopProgress =
  | { readonly type: 'gone' }
  /** Its end is notified to the listener; observe it again at the latest after `checkInMs`. */
  | { readonly type: 'stopping'; readonly checkInMs: number };

/** Whether a runtime can be used on this node. */
export type Availability =
  | { readonly available: true }
  | { readonly available: false; readonly message: string };

/** Runs workloads. All calls are idempotent; workloads outlive the daemon and are adopted by id. */
export interface Runtime {
  readonly name: string;
  availability(): Promise<Availability>;
  /**
   * Starts a new run unless one is starting or running. Resolves soon, even if the start continues: then the
   * listener is notified, and {@link observe} returns the outcome.
   * @throws Error if the command can't be spawned
   */
  start(spec: WorkloadSpec): Promise<void>;
  /** @throws Error if it may run where this node can't observe it */
  observe(id: string): Promise<WorkloadState>;
  /** Ids of all workloads that were started and not removed, also by earlier daemon processes. */
  workloads(): Promise<readonly string[]>;
  /**
   * Requests the end of the workload, once; a request that comes `graceMs` after the first one, also after a
   * restart of the daemon, kills it. Does not wait.
   * @throws Error if it survives SIGKILL
   */
  requestStop(id: string, graceMs: number): Promise<StopProgress>;
  /** As {@link requestStop}, repeated until it ended: for a shutdown, never for a reconcile. */
  stop(id: string, graceMs: number): Promise<void>;
  /** Removes the runs and the log of an ended workload. */
  remove(id: string): Promise<void>;
  /** File its output goes to. */
  logFile(id: string): string;
  /** The start offsets of its last two runs, the earlier one first; fewer if it ran less often. */
  runStarts(id: string): Promise<readonly RunStart[]>;
  /** Keeps the log within its bounds. */
  rotateLog(id: string): Promise<void>;
  /**
   * Runs a command inside a running workload; absent where a runtime can't.
   * @throws Error when the workload does not run.
   */
  exec?(id: string, spec: ExecSpec): Promise<ExecProcess>;
  /** Calls `listener` soon after a workload's state may have changed. */
  onChange(listener: (id: string) => void): void;
  /** Releases all resources except the workloads. */
  close(): void;
}
