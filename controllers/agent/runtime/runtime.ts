import type { RunStart } from '../../log/runs.js';
import type { ExecProcess, ExecSpec } from './exec.js';

/** A directory that appears in the workload. */
export interface WorkloadMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
  /** Directory inside the source, whose way holds no links. */
  readonly subPath?: string;
}

/** Whom a workload runs as, and what it keeps; as a service says it. */
export interface WorkloadRights {
  readonly user?: string;
  readonly capabilities?: readonly string[];
}

/** What to run. */
export interface WorkloadSpec extends WorkloadRights {
  /** The instance's uid: no two workloads share one. */
  readonly id: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
  readonly mounts: readonly WorkloadMount[];
}

/** What is going on with a workload. Runs are counted from 1. */
export type WorkloadState =
  | { readonly state: 'absent' }
  | { readonly state: 'starting'; readonly run: number }
  /** Nothing of this run was started, and nothing will be. */
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
      /** Why nothing of its command ran; absent when it did. */
      readonly refused?: string;
      readonly startedAt: number;
      readonly exitedAt: number;
      /** True when the agent asked for it. */
      readonly requested: boolean;
    };

/** How far a stop is. */
export type StopProgress =
  | { readonly type: 'gone' }
  /** Its end is told to the listener; it is to be asked again at the latest after `checkInMs`. */
  | { readonly type: 'stopping'; readonly checkInMs: number };

/** Whether a runtime can be used on this node. */
export type Availability =
  | { readonly available: true }
  | { readonly available: false; readonly message: string };

/** Runs workloads. All calls are idempotent; workloads outlive the daemon and are found again by id. */
export interface Runtime {
  readonly name: string;
  availability(): Promise<Availability>;
  /**
   * Starts a new run unless one is starting or running. Resolves soon, also when the start goes on:
   * {@link observe} tells its outcome then, and the listener that there is one.
   * @throws Error when no process can be made of the command
   */
  start(spec: WorkloadSpec): Promise<void>;
  /** @throws Error when it may run where this node can't see it */
  observe(id: string): Promise<WorkloadState>;
  /** Ids of all workloads that were started and not removed, also in earlier lives of the daemon. */
  workloads(): Promise<readonly string[]>;
  /**
   * Asks the workload to end, once; `graceMs` after the first request, also of an earlier life of the
   * daemon, it is killed by the request that comes then. Waits for nothing.
   * @throws Error when it survives being killed
   */
  requestStop(id: string, graceMs: number): Promise<StopProgress>;
  /** As {@link requestStop}, again and again until it is gone: for a shutdown, never for a reconcile. */
  stop(id: string, graceMs: number): Promise<void>;
  /** Forgets a workload that is gone: its runs and its log. */
  remove(id: string): Promise<void>;
  /** File its output goes to. */
  logFile(id: string): string;
  /** Where the output of its last two runs begins, the earlier one first; fewer where it ran less often. */
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
  /** Lets go of everything but the workloads. */
  close(): void;
}
