import { type ApiObject, defineKind, type ObjectStore } from 'kedge';

/** Records that a volume or snapshot existed before the store was copied: its data belongs to the original cluster. */
export interface ForeignRecord extends ApiObject {
  /** Kind of the object; its uid is the record's name. */
  readonly kindName: string;
  /** The cluster that the store was copied from. */
  readonly clusterId: string;
}

/** The kind of these records. They are included in backups and hidden from the API. */
export const foreignRecords = defineKind<ForeignRecord>({
  kind: 'ForeignRecord',
  plural: 'foreignrecords',
  scope: 'Cluster',
  statusFields: [],
});

/** The record of a volume or snapshot; undefined for an object that this cluster created. */
export async function foreignRecordOf(
  store: ObjectStore,
  uid: string,
): Promise<ForeignRecord | undefined> {
  return store.get(foreignRecords, { name: uid });
}

/** The message of a foreign object's condition. */
export function foreignWords(clusterId: string): string {
  return `belongs to cluster ${clusterId}, and this store is a copy of that cluster: a copy calls no driver for objects of the original; delete the object here (the original cluster keeps the data) and create a new one`;
}
