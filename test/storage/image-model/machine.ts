import type { ObjectKey } from 'kedge';
import type {
  Instance,
  Snapshot,
  snapshots,
  Volume,
  VolumeMount,
  volumes,
} from '@kedge/controllers';
import type { Shown } from '../model-api.js';

/** The target of a kill: the daemon, its programs, or both. */
export type Killed = 'daemon' | 'child' | 'both';

/** The state of the storage root's disk: `unmarked` is mounted without a mark of its owner. */
export type RootState = 'here' | 'unmounted' | 'unmarked';

/** The records of a workload in a file system: each is written to the first place, and then to the second. */
export interface Records {
  readonly first: number;
  readonly second: number;
}

/** The state of a machine. Images are named by their paths below the storage root, such as `<uid>.img`. */
export interface Facts {
  /** Violations. */
  readonly wrongs: readonly string[];
  /** Devices with frozen file systems, if that is observable. */
  readonly frozen: readonly string[];
  /** Images with a loop device; an image with two appears twice. */
  readonly loops: readonly string[];
  /** Mounted image by target. */
  readonly mounts: ReadonlyMap<string, string>;
  /** `<type> <device, image or target>` of the entries in the node journal. */
  readonly journal: ReadonlySet<string>;
  /** Files below the storage root, by their paths there, including copies of snapshots. */
  readonly files: readonly string[];
}

/** Workloads that write into volumes continuously. They survive daemons. */
export interface WorkloadPort {
  start(claim: string, uid: string, source: string): void;
  stop(claim: string): Promise<void>;
  /** Volume and directory, by claim. */
  readonly running: ReadonlyMap<string, { readonly uid: string; readonly target: string }>;
  /** The number of records of a volume that were acknowledged to a workload. */
  acknowledged(uid: string): number;
  /** Sets the initial number of acknowledged records of a volume, unless one is known. */
  begins(uid: string, records: number): void;
}

/** The outcome of an attempt to stage a volume for an instance. */
export type Brought =
  | { readonly type: 'mounted'; readonly source: string }
  | { readonly type: 'waiting'; readonly message: string };

/** Kinds that users create in the model. */
export type MadeKind = typeof volumes | typeof snapshots;

/** A machine with one daemon that can be killed, fake or real. Calls of a killed daemon never return, or fail. */
export interface Machine {
  readonly workloads: WorkloadPort;
  readonly alive: boolean;
  readonly root: RootState;
  begin(): Promise<void>;
  /** Starts a daemon; also settles if it is killed meanwhile. */
  boot(): Promise<void>;
  kill(whom: Killed): void;
  /** Runs `act` immediately before or after one of the next steps of the daemon, which waits for it. */
  plan(stepsFromNow: number, when: 'before' | 'after', act: (step: string) => void): void;
  forgetPlans(): void;
  /** Changes the state of the storage root. Returns false if that is refused, because the disk is in use. */
  setRoot(state: RootState): boolean;
  create(kind: MadeKind, object: Shown): Promise<unknown>;
  change(kind: MadeKind, key: ObjectKey, fields: Shown): Promise<unknown>;
  delete(kind: MadeKind, key: ObjectKey): Promise<unknown>;
  volumes(): Promise<readonly Volume[]>;
  snapshots(): Promise<readonly Snapshot[]>;
  /** Records of operations in the store. */
  operations(): Promise<readonly string[]>;
  ensure(instance: Instance, mount: VolumeMount): Promise<Brought>;
  /** Releases the volume of a claim. Returns false while the claim still has one. */
  letGo(claim: string): Promise<boolean>;
  facts(): Promise<Facts>;
  /** Reads the records in an image; undefined for a missing image or a partial copy. */
  records(image: string): Promise<Records | undefined>;
  /** Advances the time by this amount, or by the equivalent on a real machine. */
  pass(ms: number): Promise<void>;
  /** Starts work that may never end, and resolves once it has had time to begin. */
  begun(work: Promise<void>): Promise<void>;
  /** Advances the time until the condition holds, at most for a limited time. Resolves in both cases. */
  until(holds: () => Promise<boolean>): Promise<void>;
  /**
   * Runs a check. On a real machine, starts a dead daemon first, and repeats a failed check while the state may still
   * change.
   */
  verify(check: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}
