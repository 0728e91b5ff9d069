import { declaredDriver, type Driver, fsTypeRule } from '@kedge/driver-sdk';

/** `cloud1-volume`, as specification section 2.5 declares it. */
export function createCloud1VolumeDriver(): Driver {
  return declaredDriver({
    name: 'cloud1-volume',
    parameters: [
      { key: 'region', required: true },
      fsTypeRule,
      { key: 'apiToken', sensitive: true },
      { key: 'apiTokenSecretRef' },
    ],
    capabilities: {
      accessModes: ['ReadWriteOnce'],
      snapshots: true,
      expand: true,
      onlineExpand: true,
      blockDevice: true,
      topologyKeys: ['svc.io/region'],
    },
  });
}
