import { type ApiObject, defineKind } from '../object/index.js';

/** Who leads, client-go's Lease in our flat shape. Times are RFC 3339 and for people: only changes count. */
export interface Lease extends ApiObject {
  /** Empty when nobody holds it. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  readonly acquireTime: string;
  readonly renewTime: string;
  /** The epoch: rises with each change of leader, never goes back. Fences compare it. */
  readonly leaseTransitions: number;
}

/** Leases of leader elections. */
export const leases = defineKind<Lease>({
  kind: 'Lease',
  plural: 'leases',
  scope: 'Cluster',
  statusFields: [],
  takenWhenFull: true,
});
