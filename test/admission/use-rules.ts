import { instances, nodes } from '@kedge/controllers';
import type { ValidatedApi } from './validated-api.js';
import {
  all,
  claims,
  container,
  inDefault,
  type LookingRule,
  post,
  postClass,
  postService,
  postVolume,
  remove,
  snapshot,
  status,
  template,
} from './looking-rule.js';

/** The rules of volumes, snapshots, services, and of the writers' rights. */
export const useRules: readonly LookingRule[] = [
  {
    rule: 'Service: a ReadWriteOnce volume is claimed at scale 1 (rule 3)',
    reads: 'the Volume claimed, or that there is none',
    check: 'object or absence',
    mirror: 'Volume: scale of the Services that claim it',
    guard: { kind: 'Volume' },
    write: postService({ ...container, scale: 3, ...claims('v') }),
    against: postVolume(),
    refused: { status: 400, message: /ReadWriteOnce.*scale is 3/ },
    mirrored: {
      status: 400,
      message: /service "default\/s" claims this volume at scale 3/,
      guard: { kind: 'Service', index: 'claimedVolume' },
    },
  },
  {
    rule: 'Service :scale: the same (rule 3)',
    reads: 'the Volume claimed, or that there is none',
    check: 'object or absence',
    mirror: 'Volume: scale of the Services that claim it',
    guard: { kind: 'Volume' },
    given: (api) => all(api, postService({ ...container, ...claims('v') })),
    write: { method: 'POST', path: `${inDefault('services')}/s:scale`, body: { scale: 2 } },
    against: postVolume(),
    refused: { status: 400, message: /ReadWriteOnce.*scale is 2/ },
    mirrored: {
      status: 400,
      message: /at scale 2/,
      guard: { kind: 'Service', index: 'claimedVolume' },
    },
  },
  {
    rule: 'Service: runtime process claims volumes of local-host only (rule 7)',
    reads:
      'the Volume claimed with its status field driver, or that there is none; its StorageClass',
    check: 'object with status, or absence',
    mirror: 'Volume: runtime of the Services that claim it',
    guard: { kind: 'Volume' },
    write: postService(claims('v')),
    against: postVolume(),
    refused: { status: 400, message: /driver local can't be used by runtime process/ },
    mirrored: {
      status: 400,
      message: /service "default\/s" claims this volume.*runtime process/,
      guard: { kind: 'Service', index: 'claimedVolume' },
    },
  },
  {
    rule: 'Service: the names `<volume>-<service>-<ordinal>` of its replicas are free or its own',
    reads: 'Volumes by name before the ordinal, with their status field ownerService',
    check: 'index, and status of each',
    mirror: 'Volume: no claimTemplate makes a volume of this name',
    guard: { kind: 'Volume', index: 'replicaStem' },
    write: postService({ ...container, ...template({ storageClassName: 'local' }) }),
    against: postVolume({ name: 'm-s-0' }),
    refused: { status: 412, message: /"default\/m-s-0".*already exists and belongs to a user/ },
    mirrored: {
      status: 412,
      message: /claimTemplate of service "default\/s"/,
      guard: { kind: 'Service', index: 'templateStem' },
    },
  },
  {
    rule: 'Snapshot: its source exists and is not being deleted',
    reads: 'the Volume named',
    check: 'object',
    mirror: 'Volume DELETE: no Snapshot of it waits to begin',
    guard: { kind: 'Volume' },
    given: (api) => all(api, postVolume()),
    write: post('Snapshot', inDefault('snapshots'), snapshot),
    against: remove(`${inDefault('volumes')}/v`),
    refused: { status: 412, message: /volume "default\/v" is being deleted/ },
    mirrored: {
      status: 412,
      message: /source of snapshot "default\/snap"/,
      guard: { kind: 'Snapshot', index: 'sourceVolume' },
    },
  },
  {
    rule: "Snapshot: its source's driver has snapshots (rule 5)",
    reads: 'the Volume named with its status field driver; its StorageClass',
    check: 'object with status',
    mirror:
      "StorageClass: driver is immutable; DELETE without force is refused for the source's sake",
    guard: { kind: 'StorageClass' },
    given: (api) => all(api, postClass({}), postVolume({ storageClassName: 'c' })),
    write: post('Snapshot', inDefault('snapshots'), snapshot),
    against: remove('/v1/storageclasses/c?force=true'),
    refused: {
      status: 400,
      message: /volume "v" has no driver, because its storage class does not exist/,
    },
  },
  {
    rule: 'Volume: the snapshot that it is made from exists and is not being deleted',
    reads: 'the Snapshot named',
    check: 'object',
    mirror: 'Snapshot DELETE: no Volume that waits to be made from it',
    guard: { kind: 'Snapshot' },
    given: (api) => all(api, postVolume(), post('', inDefault('snapshots'), snapshot)),
    write: postVolume({ name: 'copy', source: { snapshot: 'snap' } }),
    against: remove(`${inDefault('snapshots')}/snap`),
    refused: { status: 412, message: /snapshot "default\/snap" is being deleted/ },
    mirrored: {
      status: 412,
      message: /source of volume "default\/copy"/,
      guard: { kind: 'Volume', index: 'sourceSnapshot' },
    },
  },
  {
    rule: 'Volume: driver and size suit the snapshot that it is made from',
    reads: 'the Snapshot named with its status fields driver and restoreSize',
    check: 'object with status',
    mirror: 'none: both fields are set before the first copy and stay',
    guard: { kind: 'Snapshot' },
    given: (api) => all(api, postVolume(), post('', inDefault('snapshots'), snapshot)),
    write: postVolume({ name: 'copy', source: { snapshot: 'snap' } }),
    against: {
      method: 'PUT',
      path: `${inDefault('snapshots')}/snap/status`,
      body: { restoreSize: '2147483648' },
    },
    refused: { status: 400, message: /less than snapshot "snap" requires: 2147483648/ },
  },
  {
    rule: 'Snapshot :restore: it is Ready and not being deleted',
    reads:
      'the Snapshot with its status fields status, storageClassName and restoreSize; its source',
    check: 'object with status',
    mirror: 'Snapshot DELETE: no Volume that waits to be made from it',
    guard: { kind: 'Snapshot' },
    given: async (api: ValidatedApi): Promise<void> => {
      await all(api, postVolume(), post('', inDefault('snapshots'), snapshot));
      const ready = { status: 'Ready', restoreSize: '1073741824', storageClassName: 'local' };
      await status(api, 'snapshots', 'snap', { status: 'Creating' });
      await status(api, 'snapshots', 'snap', ready);
    },
    write: {
      method: 'POST',
      path: `${inDefault('snapshots')}/snap:restore`,
      body: { volume: { name: 'copy' } },
    },
    against: remove(`${inDefault('snapshots')}/snap`),
    refused: { status: 412, message: /snapshot "default\/snap" is being deleted/ },
    mirrored: {
      status: 412,
      message: /source of volume "default\/copy"/,
      guard: { kind: 'Volume', index: 'sourceSnapshot' },
    },
  },
  {
    rule: 'Volume :detach: no instance uses it on a node that answers',
    reads:
      'the Volume with its status field attachments; each Instance named, or that there is none; each Node with its status field status',
    check: 'objects with status, or absence',
    mirror: 'none: an instance takes its volume by an update of attachments',
    guard: { kind: 'Node' },
    given: async (api: ValidatedApi): Promise<void> => {
      await all(api, postVolume());
      const key = { name: 'i', namespace: 'default' };
      await api.store.create(instances, { ...key, service: 'i', ordinal: 0, template: {} });
      await api.store.create(nodes, { name: 'n' });
      const attachments = [{ claim: 'default/i', node: 'n', state: 'Attached' }];
      await status(api, 'volumes', 'v', { attachments });
    },
    write: { method: 'POST', path: `${inDefault('volumes')}/v:detach`, body: { force: true } },
    against: { method: 'PUT', path: '/v1/nodes/n/status', body: { status: 'Ready' } },
    refused: { status: 412, message: /on node n, which is Ready/ },
  },
  {
    rule: 'User: its policies exist',
    reads: 'each Policy that is added',
    check: 'object',
    mirror: 'Policy DELETE: no User has it',
    guard: { kind: 'Policy' },
    given: (api) => all(api, post('', '/v1/admin/policies', { name: 'p', rules: [] })),
    write: post('User', '/v1/admin/users', { name: 'u', policies: ['p'] }),
    against: remove('/v1/admin/policies/p'),
    refused: { status: 400, message: /policy "p" does not exist/ },
    mirrored: { status: 412, message: /attached to 1 user \(u\)/, guard: { kind: 'User' } },
  },
  {
    rule: 'User :attachPolicy: the policy exists',
    reads: 'the Policy',
    check: 'object',
    mirror: 'Policy DELETE: no User has it',
    guard: { kind: 'Policy' },
    given: (api) =>
      all(
        api,
        post('', '/v1/admin/policies', { name: 'p', rules: [] }),
        post('', '/v1/admin/users', { name: 'u' }),
      ),
    write: { method: 'POST', path: '/v1/admin/users/u:attachPolicy', body: { policy: 'p' } },
    against: remove('/v1/admin/policies/p'),
    refused: { status: 400, message: /policy "p" does not exist/ },
    mirrored: { status: 412, message: /attached to 1 user \(u\)/, guard: { kind: 'User' } },
  },
  {
    rule: 'User: the writer has what the policies that are added allow',
    reads: 'each Policy that is added',
    check: 'object',
    mirror: 'none: a writer that widens a policy has its rights, regardless of its holders',
    guard: { kind: 'Policy' },
    given: (api) => all(api, post('', '/v1/admin/policies', { name: 'p', rules: [] })),
    write: {
      ...post('User', '/v1/admin/users', { name: 'u', policies: ['p'] }),
      token: 'clerk',
    },
    against: {
      method: 'PUT',
      path: '/v1/admin/policies/p',
      body: {
        name: 'p',
        rules: [{ resources: ['secrets'], verbs: ['reveal'], namespaces: ['*'] }],
      },
    },
    refused: { status: 400, message: /grants reveal on secrets.*a right that you do not have/ },
  },
  {
    rule: 'Token: its user exists, and the writer has what that user may do',
    reads: 'the User; each of its Policies',
    check: 'objects',
    mirror: 'none: a token does not outlive its user',
    guard: { kind: 'User' },
    given: (api) => all(api, post('', '/v1/admin/users', { name: 'u' })),
    write: { method: 'POST', path: '/v1/auth/tokens', body: { subject: 'u' } },
    against: remove('/v1/admin/users/u'),
    refused: { status: 404, message: /User "u"/ },
  },
];
