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

/** Whom a kill meets: the daemon, the programs that it runs, or both at once. */
export type Killed = 'daemon' | 'child' | 'both';

/** Where the disk of the storage root is: `unmarked` is there, and no longer says whose it is. */
export type RootState = 'here' | 'unmounted' | 'unmarked';

/** What a workload wrote into a file system: each record to the first place, and after that to the second. */
export interface Records {
  readonly first: number;
  readonly second: number;
}

/** What there is on a machine. Images are named by their paths below the storage root, such as `<uid>.img`. */
export interface Facts {
  /** What must never happen, and did. */
  readonly wrongs: readonly string[];
  /** Devices whose file systems are frozen, where that can be told. */
  readonly frozen: readonly string[];
  /** Images with a loop device; one with two is there twice. */
  readonly loops: readonly string[];
  /** Image that is mounted, by the target. */
  readonly mounts: ReadonlyMap<string, string>;
  /** `<type> <device, image or target>` of what the node journal names. */
  readonly journal: ReadonlySet<string>;
  /** Names below the storage root, copies of snapshots among them. */
  readonly files: readonly string[];
}

/** Workloads that write into volumes all the time. They outlive daemons. */
export interface WorkloadPort {
  start(claim: string, uid: string, source: string): void;
  stop(claim: string): Promise<void>;
  /** Volume and directory, by claim. */
  readonly running: ReadonlyMap<string, { readonly uid: string; readonly target: string }>;
  /** How many records of a volume a workload was told to be there. */
  acknowledged(uid: string): number;
  /** What a volume has from the beginning. */
  begins(uid: string, records: number): void;
}

/** What came of an attempt to bring a volume to an instance. */
export type Brought =
  | { readonly type: 'mounted'; readonly source: string }
  | { readonly type: 'waiting'; readonly message: string };

/** Kinds that users make in the model. */
export type MadeKind = typeof volumes | typeof snapshots;

/** A machine with one daemon that can die: a fake one, or a real one. What a dead daemon was asked never answers, or fails. */
export interface Machine {
  readonly workloads: WorkloadPort;
  readonly alive: boolean;
  readonly root: RootState;
  begin(): Promise<void>;
  /** A daemon starts; settles also when it dies meanwhile. */
  boot(): Promise<void>;
  kill(whom: Killed): void;
  /** Runs `act` right before or right after one of the next steps of the daemon, which waits for it. */
  plan(stepsFromNow: number, when: 'before' | 'after', act: (step: string) => void): void;
  forgetPlans(): void;
  /** False when that is refused, as the disk is in use. */
  setRoot(state: RootState): boolean;
  create(kind: MadeKind, object: Shown): Promise<unknown>;
  change(kind: MadeKind, key: ObjectKey, fields: Shown): Promise<unknown>;
  delete(kind: MadeKind, key: ObjectKey): Promise<unknown>;
  volumes(): Promise<readonly Volume[]>;
  snapshots(): Promise<readonly Snapshot[]>;
  /** Records of operations that are in the store. */
  operations(): Promise<readonly string[]>;
  ensure(instance: Instance, mount: VolumeMount): Promise<Brought>;
  /** False while the claim has a volume. */
  letGo(claim: string): Promise<boolean>;
  facts(): Promise<Facts>;
  /** Undefined for an image that is not there, or half a copy. */
  records(image: string): Promise<Records | undefined>;
  /** Lets time pass: that much, or as much as a real machine needs for it. */
  pass(ms: number): Promise<void>;
  /** Lets work begin that may never end. */
  begun(work: Promise<void>): Promise<void>;
  /** Lets time pass until it holds; gives up after some time. */
  until(holds: () => Promise<boolean>): Promise<void>;
  /** Runs a check; again, where what it looks at changes under its hands. */
  judge(check: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}
