import type { ResourceLimits, TakenPort } from '../../resources/index.js';
import type { ExecProcess, ExecSpec } from './exec.js';
import type { LogLine, LogRequest } from './log.js';

/** A directory that is mounted into the workload. */
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

/** The network of a workload, from its service. */
export interface WorkloadNetwork {
  /** The network of a container; default bridge. */
  readonly network?: 'bridge' | 'host' | 'none';
  /** Ports that the node publishes, or that the workload uses on the host network. */
  readonly ports?: readonly TakenPort[];
}

/** A port of the node that leads to a workload. */
export interface PublishedPort extends Omit<TakenPort, 'name'> {
  /** Address of the node. */
  readonly address: string;
}

/** The specification of a workload. */
export interface WorkloadSpec extends WorkloadRights, WorkloadNetwork {
  /** The uid of the instance, which is unique. */
  readonly id: string;
  /** Name and namespace of the instance, for names that users and other workloads see. */
  readonly namespace?: string;
  readonly name?: string;
  readonly service?: string;
  /** Image reference of a container; absent for a process. */
  readonly image?: string;
  /** The pull policy; default `missing`: only if the node does not have the image. */
  readonly imagePull?: 'missing' | 'always' | 'never';
  /**
   * Digest of the image of its previous run, or of another instance with the same template. It is preferred to the tag,
   * unless the pull policy is `always`.
   */
  readonly pinnedImage?: string;
  /** The program and its first arguments. If empty, the entry point of the image is used. */
  readonly command: readonly string[];
  /** Arguments after the command; without a command they replace those of the image. */
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Default: that of the image, or the root directory. */
  readonly workingDir?: string;
  readonly mounts: readonly WorkloadMount[];
  readonly limits?: ResourceLimits;
  /** Whether the start fails if the limits can't be enforced. */
  readonly strictLimits?: boolean;
  /** Whether process 1 of a container is an init process; default true. */
  readonly init?: boolean;
}

/** The state of a workload. Runs are counted from 1. */
export type WorkloadState =
  | { readonly state: 'absent' }
  /** `message`: what it waits for, such as an image. */
  | { readonly state: 'starting'; readonly run: number; readonly message?: string }
  /** This run was not started and never will be. */
  | {
      readonly state: 'startFailed';
      readonly run: number;
      readonly message: string;
      /** Set if the image could not be pulled; absent for all other causes. */
      readonly reason?: 'ImagePullFailed';
      /**
       * Whether the start failed before its container was started, and there is no container, so that the run is no
       * restart.
       */
      readonly withoutContainer?: true;
    }
  | {
      readonly state: 'running';
      readonly run: number;
      readonly pid: number;
      /** Id of its container; absent for a process. */
      readonly container?: string;
      /** Digest of its image, or its id if it came from no registry; absent for a process. */
      readonly image?: string;
      /** Address of a container on the bridge of the cluster. */
      readonly ip?: string;
      /** Ports of a container that the engine publishes. */
      readonly published?: readonly PublishedPort[];
      /** The reason why its limits are not enforced; absent if they are, or without limits. */
      readonly unenforced?: string;
      /** How its limits were changed since its start, and how to restore them; absent if they were not. */
      readonly changedLimits?: string;
      /**
       * Why a running container can't work: another user of the engine paused it, or disconnected it from the network
       * of the cluster.
       */
      readonly impaired?: { readonly reason: 'Paused' | 'NetworkLost'; readonly message: string };
      /** The end of its previous run, if its cause became known only after that end was returned. */
      readonly previousEnd?: { readonly exitCode: number; readonly reason: 'OOMKilled' };
      /** Milliseconds since the epoch. */
      readonly startedAt: number;
    }
  /** Its process has ended, and the cause is not known yet. The listener is notified. */
  | { readonly state: 'ending'; readonly run: number }
  | {
      readonly state: 'exited';
      readonly run: number;
      /** Undefined if it was not recorded, for example because its supervisor ended too (power failure). */
      readonly exitCode: number | undefined;
      /** The reason why the command was not executed, such as its error or that of a mount; absent if none is known. */
      readonly refused?: string;
      /** The cause of the end if it is not the command itself: the kernel, or a restart of the engine. */
      readonly reason?: 'OOMKilled' | 'EngineRestarted';
      /** Set with the reason EngineRestarted if the machine was rebooted after the start of the run. */
      readonly rebooted?: true;
      /** Milliseconds since the epoch, like `exitedAt`. */
      readonly startedAt: number;
      readonly exitedAt: number;
      /** Whether the agent requested the end of the workload. */
      readonly requested: boolean;
    };

/** The progress of a stop. */
export type StopProgress =
  | { readonly type: 'gone' }
  /** The listener is notified of the end. Request the stop again after at most `checkInMs`. */
  | {
      readonly type: 'stopping';
      readonly checkInMs: number;
      /** The last signal that was sent, such as SIGTERM; absent before the first one. */
      readonly sent?: string | undefined;
    };

/** Whether a runtime can be used on this node. */
export type Availability =
  | { readonly available: true }
  | { readonly available: false; readonly message: string };

/** Runs workloads. Calls other than `exec` are idempotent. Workloads outlive the daemon and are adopted by id. */
export interface Runtime {
  readonly name: string;
  availability(): Promise<Availability>;
  /**
   * Starts a run unless one is starting or running. If the start takes longer, it continues after this call: the
   * listener is notified, and {@link observe} returns the outcome.
   * @throws Error if the run can't be started, or the outcome is unknown; a failure may also be returned by
   *   {@link observe} alone, as `startFailed`
   */
  start(spec: WorkloadSpec): Promise<void>;
  /**
   * Returns the state of a workload; `absent` for an unknown id.
   * @throws Error if it may run where this node can't observe it, or the engine does not answer
   */
  observe(id: string): Promise<WorkloadState>;
  /** Ids of all workloads that were started and not removed, including those of earlier daemon processes. */
  workloads(): Promise<readonly string[]>;
  /**
   * Requests the end of the workload, once, and ends the commands of {@link exec} in it. A call `graceMs` after the
   * first one kills it, also after a restart of the daemon. Does not wait for the end.
   * @throws Error if it survives SIGKILL
   */
  requestStop(id: string, graceMs: number): Promise<StopProgress>;
  /** Like {@link requestStop}, repeated until the workload ended. For a shutdown, never for a reconcile. */
  stop(id: string, graceMs: number): Promise<void>;
  /** Removes the runs and the log of an ended workload. No-op for an unknown id. */
  remove(id: string): Promise<void>;
  /** The requested part of the retained output of all runs. @throws Error if it can't be read */
  readLog(id: string, request: LogRequest): AsyncIterable<LogLine>;
  /** The output of the previous run; undefined if there is none, or its start is unknown. */
  readPrevious(id: string): Promise<AsyncIterable<LogLine> | undefined>;
  /** Limits the disk space of a workload's output, and records its size for reads by time; no-op for containers. */
  housekeep(id: string): Promise<void>;
  /**
   * Runs a command inside a running workload; absent if the runtime does not support it.
   * @throws Error if the workload is not running
   */
  exec?(id: string, spec: ExecSpec): Promise<ExecProcess>;
  /** Calls `listener` soon after a workload's state may have changed. */
  onChange(listener: (id: string) => void): void;
  /** Releases all resources except the workloads. */
  close(): void;
}
