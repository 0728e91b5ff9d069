import { type ApiObject, type Condition, defineKind } from 'kedge';
import type { InstanceTemplate } from './service.js';

/** A volume as it is mounted. */
export interface InstanceMount {
  readonly name: string;
  /** `<namespace>/<volume>` */
  readonly volume: string;
  readonly mountPath: string;
  readonly readOnly: boolean;
  /** Directory on the node. */
  readonly source: string;
}

/** How the starts of an instance are paced; kept in its status, so that a restart of the agent keeps the pace. */
export interface InstanceBackoff {
  /** Runs in a row that ended soon. */
  readonly crashes?: number;
  /** Starts in a row that failed. */
  readonly failedStarts?: number;
  /** The last run that was counted. */
  readonly run?: number;
  /** After a start that failed: the next one comes no sooner. */
  readonly nextStartAt?: string;
  /** Generation of the instance that could not be started; another one starts at once. */
  readonly generation?: number;
}

/** Status values of an instance. */
export type InstancePhase =
  | 'Pending'
  | 'Starting'
  | 'Running'
  | 'Stopped'
  | 'Failed'
  | 'Exited'
  | 'Unknown';

/** One replica of a service. */
export interface Instance extends ApiObject {
  readonly namespace: string;
  readonly service: string;
  readonly ordinal: number;
  /** Node it is bound to; absent until it is scheduled. */
  readonly node?: string;
  readonly template: InstanceTemplate;
  /** As its service has it. */
  readonly minReadySeconds?: number;

  readonly status?: InstancePhase;
  readonly conditions?: readonly Condition[];
  readonly failureMessage?: string;
  readonly restartCount?: number;
  readonly pid?: number;
  readonly startedAt?: string;
  readonly mounts?: readonly InstanceMount[];
  readonly exitCode?: number;
  readonly backoff?: InstanceBackoff;
}

export const instances = defineKind<Instance>({
  kind: 'Instance',
  plural: 'instances',
  shortNames: ['inst', 'instance'],
  scope: 'Namespaced',
  statusFields: [
    'status',
    'conditions',
    'failureMessage',
    'restartCount',
    'pid',
    'startedAt',
    'mounts',
    'exitCode',
    'backoff',
  ],
  initialStatus: { status: 'Pending', restartCount: 0 },
  indexes: {
    /** `<namespace>/<service>` */
    service: ({ namespace, service }) => [`${namespace}/${service}`],
  },
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'SERVICE', value: (o) => o.service },
    { header: 'NODE', value: (o) => o.node },
    { header: 'STATUS', value: (o) => o.status },
    { header: 'RESTARTS', value: (o) => o.restartCount ?? 0 },
    { header: 'PID', value: (o) => o.pid, wide: true },
    { header: 'MESSAGE', value: (o) => o.failureMessage, wide: true },
  ],
});
