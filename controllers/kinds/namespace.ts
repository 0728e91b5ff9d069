import { type ApiObject, defineKind } from 'kedge';

/** A room for objects; names are unique within one. */
export interface Namespace extends ApiObject {
  readonly description?: string;
  readonly status?: 'Active' | 'Terminating';
}

export const namespaces = defineKind<Namespace>({
  kind: 'Namespace',
  plural: 'namespaces',
  shortNames: ['ns', 'namespace'],
  scope: 'Cluster',
  statusFields: ['status'],
  initialStatus: { status: 'Active' },
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'STATUS', value: (o) => o.status },
  ],
});
