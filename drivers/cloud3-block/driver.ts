import { declaredDriver, type Driver, fsTypeRule } from '@kedge/driver-sdk';

/**
 * Creates the driver `cloud3-block` for Amazon EBS with the parameter rules and capabilities of specification section
 * 2.5. Its calls are not implemented: see {@link declaredDriver}.
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
