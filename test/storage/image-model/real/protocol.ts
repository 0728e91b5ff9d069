import type { ObjectKey } from 'kedge';
import type { Instance, Snapshot, Volume, VolumeMount } from '@kedge/controllers';
import type { Shown } from '../../model-api.js';
import type { Brought } from '../machine.js';

/** Kinds by their names in messages. */
export type KindName = 'Volume' | 'Snapshot';

/** Requests to a daemon. */
export interface Calls {
  create(kind: KindName, object: Shown): Promise<unknown>;
  change(kind: KindName, key: ObjectKey, fields: Shown): Promise<unknown>;
  delete(kind: KindName, key: ObjectKey): Promise<unknown>;
  volumes(): Promise<readonly Volume[]>;
  snapshots(): Promise<readonly Snapshot[]>;
  operations(): Promise<readonly string[]>;
  ensure(instance: Instance, mount: VolumeMount): Promise<Brought>;
  letGo(claim: string): Promise<boolean>;
}

/** The time of a planned event relative to a step. */
export type When = 'before' | 'after';

/** Messages to the daemon. */
export type Order =
  | {
      readonly type: 'call';
      readonly id: number;
      readonly method: keyof Calls;
      readonly args: readonly unknown[];
    }
  | { readonly type: 'plan'; readonly id: number; readonly steps: number; readonly when: When }
  | { readonly type: 'goOn'; readonly id: number }
  | { readonly type: 'forget' };

/** Messages from the daemon. */
export type Report =
  | { readonly type: 'ready' }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'failure'; readonly id: number; readonly message: string }
  /** The step with the planned event was reached, and waits. */
  | { readonly type: 'met'; readonly id: number; readonly step: string };
