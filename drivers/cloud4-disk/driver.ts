import { declaredDriver, type Driver, fsTypeRule } from '@kedge/driver-sdk';

/**
 * Creates the driver `cloud4-disk` for Google Persistent Disk with the parameter rules and capabilities of
 * specification section 2.5. Its calls are not implemented: see {@link declaredDriver}.
 */
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
      placeParameters: { 'svc.io/zone': ['zone'] },
      requiredTopologyKeys: ['svc.io/zone'],
    },
  });
}
