import { declaredDriver, type Driver, fsTypeRule } from '@kedge/driver-sdk';

/** `cloud3-block`, as specification section 2.5 declares it. */
export function createCloud3BlockDriver(): Driver {
  return declaredDriver({
    name: 'cloud3-block',
    parameters: [
      { key: 'region', required: true },
      { key: 'availabilityZone' },
      { key: 'volumeType' },
      { key: 'iops', wholeNumber: true },
      { key: 'throughput', wholeNumber: true },
      { key: 'encrypted', values: ['true', 'false'] },
      { key: 'kmsKeyId' },
      fsTypeRule,
      { key: 'accessKeyId' },
      { key: 'secretAccessKey', sensitive: true },
      { key: 'sessionToken', sensitive: true },
    ],
    capabilities: {
      accessModes: ['ReadWriteOnce'],
      snapshots: true,
      expand: true,
      onlineExpand: true,
      blockDevice: true,
      topologyKeys: ['svc.io/region', 'svc.io/zone'],
    },
  });
}
