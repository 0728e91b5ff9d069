import { declaredDriver, type Driver, fsTypeRule } from '@kedge/driver-sdk';

/**
 * The `cloud1-volume` driver for DigitalOcean Block Storage: parameter rules and the capabilities of specification
 * section 2.5. Its calls are not implemented: see {@link declaredDriver}.
 */
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
