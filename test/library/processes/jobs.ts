import { type ApiObject, kindOf } from 'kedge';
import { describeKinds, mount } from 'kedge/server';

/** A job to be done once. */
export interface Job extends ApiObject {
  readonly amount: number;
  readonly paid?: boolean;
  readonly receipt?: string;
  readonly by?: string;
}

export const jobs = kindOf<Job>()({
  kind: 'Job',
  plural: 'jobs',
  scope: 'Namespaced',
  statusFields: ['paid', 'receipt', 'by'],
});

/** The API that server and workers share. */
export const api = describeKinds('work.v1', [
  mount(jobs, { amount: 'integer', paid: 'boolean', receipt: 'string', by: 'string' }),
]);

/** The rights of a worker: only these. */
export const workerRules = [
  { resources: ['jobs'], verbs: ['get', 'list', 'watch', 'create'], namespaces: ['*'] },
  { resources: ['jobs/status'], verbs: ['update'], namespaces: ['*'] },
  { resources: ['leases'], verbs: ['get', 'create', 'update'], namespaces: ['*'] },
  {
    resources: ['reconcilerecords', 'effectrecords'],
    verbs: ['get', 'list', 'create', 'update', 'delete'],
    namespaces: ['*'],
  },
];
