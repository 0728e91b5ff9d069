import { declaredDriver, type Driver, fsTypeRule } from '@kedge/driver-sdk';

/** `cloud2-volume` declares volumes of Hetzner Cloud, with the capabilities of specification section 2.5. */
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
