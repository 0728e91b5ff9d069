import { settled } from './reason.js';

/** Reasons of objects without a problem. */
export const settledReasons = {
  AgentRunning: settled('the agent of the node sends heartbeats'),
  Bound: settled('an instance has claimed the volume'),
  Deleted: settled('the node deleted the data; the object is removed next'),
  Detached: settled('the volume was force-detached from its node'),
  Empty: settled('the namespace is empty'),
  EnoughSpace: settled('the volume has enough free space again'),
  Found: settled('the provider reports the volume again'),
  LimitsEnforced: settled('the limits of the workload are enforced'),
  Mounted: settled('all volumes of the instance are mounted'),
  OwnerBack: settled('the service of the volume exists again'),
  Provisioned: settled('the driver provisioned the volume'),
  Ready: settled('the snapshot can be restored'),
  Reconciled: settled('the reconcile of the object is not refused any more'),
  Rechecking: settled('the provisioning of a Failed volume is retried'),
  Resized: settled('the volume has the requested size'),
  Retried: settled('a retry of the object was requested'),
  Reused: settled('a Released volume was made Available again'),
  Running: settled('the workload runs'),
  Scheduled: settled('the instance is assigned to a node'),
  StorageRootReady: settled('the storage root of the node is in use'),
  Unbound: settled('no instance claims the volume'),
  Written: settled('the mounted secrets and configmaps are written'),
} as const;
