import { settled } from './reason.js';

/** Reasons of objects without a problem. */
export const settledReasons = {
  AgentRunning: settled('the agent of the node tells of itself'),
  Bound: settled('an instance has the volume'),
  Deleted: settled('the node deleted the data; the object goes next'),
  Detached: settled('the volume was taken from its node by hand'),
  Empty: settled('nothing is left in the namespace'),
  Found: settled('the provider has the volume again'),
  Mounted: settled('all volumes of the instance are mounted'),
  OwnerBack: settled('the service of the volume is back'),
  Provisioned: settled('the driver made the volume'),
  Ready: settled('the snapshot can be restored'),
  Rechecking: settled('a Failed volume is looked at again'),
  Resized: settled('the volume has the size that was asked for'),
  Retried: settled('the object was asked to be tried again'),
  Reused: settled('a Released volume was made Available again'),
  Running: settled('the workload runs'),
  Scheduled: settled('the instance has a node'),
  StorageRootReady: settled('the storage root of the node is in use'),
  Unbound: settled('no instance has the volume'),
  Written: settled('the mounted secrets and configmaps are written'),
} as const;
