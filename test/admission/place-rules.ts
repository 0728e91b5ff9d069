import type { ValidatedApi } from './validated-api.js';
import {
  all,
  claims,
  container,
  hostClass,
  hostClassWithoutPath,
  inDefault,
  type LookingRule,
  post,
  postClass,
  postService,
  postVolume,
  type Refusal,
  remove,
  service,
  template,
  volume,
} from './looking-rule.js';

const terminating: Refusal = { status: 412, message: /namespace "n" is being deleted/ };

/** One rule per kind that an emptied namespace must not contain: the namespace's own deletion reads them. */
const inNamespace: readonly (readonly [string, string, object])[] = [
  ['Volume', 'volumes', volume],
  ['Service', 'services', service],
  ['Secret', 'secrets', { name: 'x', data: { a: 'b' } }],
  ['Configmap', 'configmaps', { name: 'x', data: { a: 'b' } }],
];

/** The rules of namespaces and storage classes. */
export const placeRules: readonly LookingRule[] = [
  ...inNamespace.map(
    ([kind, plural, object]): LookingRule => ({
      rule: `${kind}: its namespace exists and is not being deleted`,
      reads: 'the Namespace',
      check: 'object',
      mirror: `Namespace DELETE without cascade: no ${kind} in it`,
      guard: { kind: 'Namespace' },
      given: (api) => all(api, post('Namespace', '/v1/namespaces', { name: 'n' })),
      write: post(kind, `/v1/namespaces/n/${plural}`, object),
      against: remove('/v1/namespaces/n'),
      refused: terminating,
      mirrored: { status: 412, message: /contains 1 object /, guard: { kind, index: 'namespace' } },
    }),
  ),
  {
    rule: 'Secret: its namespace is not being deleted, or a deletion needs the secret',
    reads:
      'Volumes and Snapshots by needed secret; all StorageClasses, and the Volumes and Snapshots of those that refer to it',
    check: 'kind and index',
    mirror: 'none: it goes with its namespace',
    guard: { kind: 'Volume', index: 'neededSecret', withObjects: true },
    given: (api) =>
      all(
        api,
        post('', '/v1/namespaces', { name: 'n' }),
        postClass({ driver: 'cloud1-volume', parameters: { region: 'r' } }),
        postVolume({ storageClassName: 'c', parameters: { apiToken: 'secret:x.n.svc/k' } }),
        remove('/v1/namespaces/n'),
        remove(`${inDefault('volumes')}/v`),
      ),
    write: post('Secret', '/v1/namespaces/n/secrets', { name: 'x', data: { k: 'v' } }),
    against: {
      method: 'PUT',
      path: `${inDefault('volumes')}/v`,
      body: { ...volume, storageClassName: 'c', parameters: { apiToken: 'literal' } },
    },
    refused: terminating,
  },
  {
    rule: 'Volume: its class exists',
    reads: 'the StorageClass named',
    check: 'object',
    mirror: 'StorageClass DELETE without force: no Volume of the class',
    guard: { kind: 'StorageClass' },
    given: (api) => all(api, postClass({})),
    write: postVolume({ storageClassName: 'c' }),
    against: remove('/v1/storageclasses/c'),
    refused: { status: 400, message: /storage class "c" does not exist/ },
    mirrored: {
      status: 412,
      message: /used by volume "default\/v"/,
      guard: { kind: 'Volume', index: 'storageClass' },
    },
  },
  {
    rule: 'Service: the class of each claimTemplate exists',
    reads: 'the StorageClass named',
    check: 'object',
    mirror: 'StorageClass DELETE without force: no claimTemplate of the class',
    guard: { kind: 'StorageClass' },
    given: (api) => all(api, postClass({})),
    write: postService({ ...container, ...template({ storageClassName: 'c' }) }),
    against: remove('/v1/storageclasses/c'),
    refused: { status: 400, message: /storage class "c" does not exist/ },
    mirrored: {
      status: 412,
      message: /claimTemplate of service "default\/s"/,
      guard: { kind: 'Service', index: 'storageClass' },
    },
  },
  {
    rule: 'Volume, claimTemplate: without a class there is a default one',
    reads: 'all StorageClasses',
    check: 'kind',
    mirror: 'none: the class that was found is written into the object',
    guard: { kind: 'StorageClass' },
    given: (api) => all(api, postClass({ default: true })),
    write: postVolume({ storageClassName: '' }),
    against: { method: 'PUT', path: '/v1/storageclasses/c', body: { name: 'c', driver: 'local' } },
    refused: { status: 400, message: /storageClassName.*no class has default true/ },
  },
  {
    rule: 'StorageClass: at most one is the default (rule 9)',
    reads: 'all StorageClasses',
    check: 'kind',
    mirror: 'the same rule',
    guard: { kind: 'StorageClass' },
    write: postClass({ default: true }),
    against: postClass({ name: 'd', default: true }),
    refused: { status: 400, message: /class "d" is already the default/ },
    mirrored: {
      status: 400,
      message: /class "c" is already the default/,
      guard: { kind: 'StorageClass' },
    },
  },
  {
    rule: 'Volume: access mode, parameters and reclaim policy suit its class and driver (rules 4, 6, 8)',
    reads: 'the StorageClass named',
    check: 'object',
    mirror: 'StorageClass PUT: every Volume of the class still suits it',
    guard: { kind: 'StorageClass' },
    given: (api) => all(api, postClass(hostClass)),
    write: postVolume({ storageClassName: 'h' }),
    against: hostClassWithoutPath,
    refused: { status: 400, message: /parameters\.hostPath/ },
    mirrored: {
      status: 400,
      message: /volume "default\/v" uses this class/,
      guard: { kind: 'Volume', index: 'storageClass' },
    },
  },
  {
    rule: 'Service: each claimTemplate suits its class and driver (rules 4, 6, 7, 8)',
    reads: 'the StorageClass named',
    check: 'object',
    mirror: 'StorageClass PUT: every claimTemplate of the class still suits it',
    guard: { kind: 'StorageClass' },
    given: (api) => all(api, postClass(hostClass)),
    write: postService(template({ storageClassName: 'h' })),
    against: hostClassWithoutPath,
    refused: { status: 400, message: /parameters\.hostPath/ },
    mirrored: {
      status: 400,
      message: /service "default\/s" uses this class/,
      guard: { kind: 'Service', index: 'storageClass' },
    },
  },
  {
    rule: 'StorageClass made again: Volumes of an earlier one, and the Services that claim them, suit it (rules 4, 6, 7, 8)',
    reads: 'Volumes by class, Services by claimed volume',
    check: 'index',
    mirror: 'Service: the driver of what it claims (rule 7)',
    guard: { kind: 'Service', index: 'claimedVolume' },
    given: async (api: ValidatedApi): Promise<void> => {
      await all(api, postClass({}), postVolume({ storageClassName: 'c' }));
      await all(api, remove('/v1/storageclasses/c?force=true'));
    },
    write: postClass({}),
    against: postService(claims('v')),
    refused: { status: 400, message: /service "default\/s".*runtime process/ },
    mirrored: { status: 400, message: /runtime process/, guard: { kind: 'StorageClass' } },
  },
];
