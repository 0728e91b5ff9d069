import { declaredDriver, type Driver, fsTypeRule } from '@kedge/driver-sdk';

/** `cloud4-disk` declares volumes of Google Persistent Disk, with the capabilities of specification section 2.5. */
export function createCloud4DiskDriver(): Driver {
  return declaredDriver({
    name: 'cloud4-disk',
    provider: 'Google Persistent Disk',
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
