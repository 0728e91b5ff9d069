import { declaredDriver, type Driver, fsTypeRule } from '@kedge/driver-sdk';

/** `cloud4-disk`, as specification section 2.5 declares it. */
export function createCloud4DiskDriver(): Driver {
  return declaredDriver({
    name: 'cloud4-disk',
    parameters: [
      { key: 'zone' },
      { key: 'project' },
      { key: 'diskType', values: ['pd-balanced', 'pd-ssd', 'pd-standard', 'pd-extreme'] },
      fsTypeRule,
      { key: 'credentialsJSON', sensitive: true },
    ],
    capabilities: {
      accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
      snapshots: true,
      expand: true,
      onlineExpand: true,
      blockDevice: true,
      topologyKeys: ['svc.io/zone'],
    },
  });
}
