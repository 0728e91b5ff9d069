import { declaredDriver, type Driver, fsTypeRule } from '@kedge/driver-sdk';

/** `cloud3-block` declares volumes of Amazon EBS, with the capabilities of specification section 2.5. */
export function createCloud3BlockDriver(): Driver {
  return declaredDriver({
    name: 'cloud3-block',
    provider: 'Amazon EBS',
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
