import { declaredDriver, type Driver, fsTypeRule } from '@kedge/driver-sdk';

/**
 * The `cloud2-volume` driver for Hetzner Cloud Volumes: parameter rules and the capabilities of specification
 * section 2.5. Its calls are not implemented: see {@link declaredDriver}.
 */
export function createCloud2VolumeDriver(): Driver {
  return declaredDriver({
    name: 'cloud2-volume',
    provider: 'Hetzner Cloud',
    parameters: [
      { key: 'location', aliases: ['region'], required: true },
      fsTypeRule,
      { key: 'apiToken', sensitive: true },
    ],
    capabilities: {
      accessModes: ['ReadWriteOnce'],
      snapshots: false,
      expand: true,
      onlineExpand: false,
      blockDevice: true,
      topologyKeys: ['svc.io/region'],
    },
  });
}
