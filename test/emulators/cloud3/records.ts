import type { Action, ActionFate } from '../core/actions.js';
import type { Instance } from '../core/machine.js';

export type Tags = Readonly<Record<string, string>>;

/** The attachment of a volume to an instance. */
export interface Attachment {
  readonly instance: string;
  readonly device: string;
  readonly state: 'attaching' | 'attached' | 'detaching' | 'busy';
  readonly at: number;
}

/** A volume as plain data. */
export interface Volume {
  readonly id: string;
  readonly zone: string;
  readonly sizeGib: number;
  readonly type: string;
  readonly iops?: number;
  readonly throughput?: number;
  readonly encrypted: boolean;
  readonly kmsKey?: string;
  readonly snapshot?: string;
  readonly tags: Tags;
  readonly state: 'creating' | 'available' | 'deleting' | 'error';
  readonly createdAt: number;
  readonly attachment?: Attachment;
  /** Number of the next reads from which the volume is missing. */
  readonly lag: number;
  /** Whether it is the root volume of an instance, which no request of a user created. */
  readonly root?: true;
}

/** The values of a volume that a modification changes. */
export interface Shape {
  readonly sizeGib: number;
  readonly type: string;
  readonly iops?: number;
  readonly throughput?: number;
}

/** One modification of a volume. A volume keeps at least those of the last 24 hours. */
export interface Modification {
  readonly volume: string;
  readonly state: 'modifying' | 'optimizing' | 'completed' | 'failed';
  readonly from: Shape;
  readonly to: Shape;
  readonly startedAt: number;
  readonly endedAt?: number;
}

export interface Snapshot {
  readonly id: string;
  readonly region: string;
  readonly volume: string;
  readonly sizeGib: number;
  readonly description: string;
  readonly encrypted: boolean;
  readonly tags: Tags;
  readonly state: 'pending' | 'completed' | 'error';
  readonly startedAt: number;
  readonly lag: number;
}

export interface Server extends Instance {
  readonly id: string;
  readonly kind: string;
  readonly privateDns: string;
  readonly address: string;
  readonly state: 'running' | 'terminated';
  readonly launchedAt: number;
  readonly terminatedAt?: number;
  readonly tags: Tags;
}

/** A client token that a request to create a volume had. */
export interface UsedToken {
  readonly token: string;
  readonly region: string;
  /** The parameters of the request, as JSON. */
  readonly order: string;
  readonly volume: string;
  readonly at: number;
}

/** The work of an action. */
export type Work =
  | { readonly type: 'create' | 'delete' | 'modify' | 'optimize'; readonly volume: string }
  | { readonly type: 'attach' | 'detach'; readonly volume: string; readonly instance: string }
  | { readonly type: 'snapshot'; readonly snapshot: string };

export type Started = Action<Work>;

/** The time of a request, its region, and the fault of the action that it starts. */
export interface Timed {
  readonly now: number;
  readonly region: string;
  readonly fate: ActionFate;
}
