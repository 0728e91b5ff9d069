import { type ApiObject, type Condition, kindOf } from 'kedge';

/** A machine that runs instances. */
export interface Node extends ApiObject {
  readonly address?: string;
  readonly unschedulable?: boolean;

  readonly status?: 'Ready' | 'NotReady';
  readonly version?: string;
  readonly lastHeartbeatAt?: string;
  readonly drivers?: readonly string[];
  readonly runtimes?: readonly string[];
  readonly conditions?: readonly Condition[];
  /** The process that is the agent of this node. */
  readonly agentId?: string;
}

export const nodes = kindOf<Node>()({
  kind: 'Node',
  plural: 'nodes',
  shortNames: ['node'],
  scope: 'Cluster',
  statusFields: [
    'status',
    'version',
    'lastHeartbeatAt',
    'drivers',
    'runtimes',
    'conditions',
    'agentId',
  ],
  initialStatus: { status: 'NotReady' },
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'STATUS', value: (o) => o.status },
    { header: 'RUNTIMES', value: (o) => o.runtimes?.join(',') },
    { header: 'VERSION', value: (o) => o.version },
  ],
});
