import { type ApiObject, type Condition, kindOf, stateMachine } from 'kedge';

/** A room for objects; names are unique within one. */
export interface Namespace extends ApiObject {
  readonly description?: string;
  readonly status?: 'Active' | 'Terminating';
  /** `ContentRemaining` says what its deletion waits for. */
  readonly conditions?: readonly Condition[];
}

export const namespaces = kindOf<Namespace>()({
  kind: 'Namespace',
  plural: 'namespaces',
  shortNames: ['ns', 'namespace'],
  scope: 'Cluster',
  rarelyWritten: true,
  statusFields: ['status', 'conditions'],
  states: stateMachine(
    'status',
    'Active',
    { Active: ['Terminating'], Terminating: [] },
    { removable: ['Terminating'] },
  ),
  initialStatus: { status: 'Active' },
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'STATUS', value: (o) => o.status },
  ],
});
