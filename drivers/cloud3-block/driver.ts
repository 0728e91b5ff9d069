import { declaredDriver, type Driver, fsTypeRule } from '@kedge/driver-sdk';

/**
 * The `cloud3-block` driver for Amazon EBS: parameter rules and the capabilities of specification
 * section 2.5. Its calls are not implemented: see {@link declaredDriver}.
 */
export function createCloud3BlockDriver(): Driver {
  return declaredDriver({
    name: 'cloud3-block',
    provider: 'Amazon EBS',
    parameters: [
      { key: 'region', required: 'class' },
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
      placeParameters: { 'svc.io/region': ['region'], 'svc.io/zone': ['availabilityZone'] },
      requiredTopologyKeys: ['svc.io/zone'],
    },
  });
}
