import { type ApiObject, defineKind } from '../object/index.js';

/**
 * The lease of an election: client-go's Lease in a flat shape. Its times are RFC 3339 and informational: candidates
 * count only changes.
 */
export interface Lease extends ApiObject {
  /** Identity of the holder; empty if the lease is free. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  readonly acquireTime: string;
  readonly renewTime: string;
  /** The epoch: increases each time the lease is taken, never decreases. Fences compare it. */
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
