import { declaredDriver, type Driver, fsTypeRule } from '@kedge/driver-sdk';

/** `cloud1-volume` declares volumes of DigitalOcean, with the capabilities of specification section 2.5. */
export function createCloud1VolumeDriver(): Driver {
  return declaredDriver({
    name: 'cloud1-volume',
    provider: 'DigitalOcean',
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
