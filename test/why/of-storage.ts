import { join } from 'node:path';
import { eventually } from 'kedge/testing';
import type { TestDaemon } from '../acceptance/daemon.js';
import type { Mistake } from './mistake.js';
import { claim, faulty, hostVolume, service, volume } from './objects.js';

const available = ['volumes/data', 'Available'] as const;
const whyData = 'kedge why volume/data -n $NS';
const secretFault = { storageClassName: 'faulty', parameters: { fault: 'secret:token/key' } };
const withToken = async (
  post: (plural: string, object: object) => Promise<void>,
  fault: string,
) => {
  await post('secrets', { name: 'token', data: { key: fault } });
  await post('volumes', volume(secretFault));
};

function reached(daemon: TestDaemon, at: string, status: string): Promise<unknown> {
  return eventually(
    `${at} ${status}`,
    async () => (await daemon.ok('GET', at)).status === status,
    60_000,
  );
}

/** Mistakes with volumes and snapshots. */
export const ofStorage: readonly Mistake[] = [
  {
    name: 'a secret of a parameter that does not exist',
    given: ({ post }) => post('volumes', volume(secretFault)),
    until: ['volumes/data', 'does not exist'],
    command: whyData,
    words: [
      'secret $NS/token does not exist',
      'kedge create secret token -n $NS --from-literal key=VALUE',
    ],
    then: { value: 'none', recovers: available },
  },
  {
    name: 'credentials that the provider refuses',
    given: ({ post }) => withToken(post, 'provision CredentialsRejected 401 bad token'),
    until: ['volumes/data', '401 bad token'],
    command: whyData,
    words: [
      '401 bad token',
      'the provider rejects the credentials',
      'set data.key of secret $NS/token',
      'kedge patch secret/token -n $NS',
    ],
    then: { value: 'none', recovers: available },
  },
  {
    name: 'credentials without the required right',
    given: ({ post }) => withToken(post, 'provision PermissionDenied 403 read only token'),
    until: ['volumes/data', '403 read only token'],
    command: 'kedge describe volume/data -n $NS',
    words: [
      '403 read only token',
      'set data.key of secret $NS/token to a credential that permits the call',
    ],
  },
  {
    name: 'a full disk',
    given: ({ post }) =>
      post('volumes', faulty('provision QuotaExceeded no space left on device', { size: '1Gi' })),
    until: ['volumes/data', 'no space left'],
    command: whyData,
    words: [
      'no space left on device',
      'set size of volume $NS/data',
      'or free capacity at the provider',
    ],
  },
  {
    name: 'a provider that throttles calls',
    given: ({ post }) => post('volumes', faulty('provision Throttled 429 slow down')),
    until: ['volumes/data', '429 slow down'],
    command: whyData,
    words: [
      '429 slow down',
      'continues automatically at ',
      'kedge delete volume/data -n $NS',
      'Next retry',
    ],
  },
  {
    name: 'an image volume on a node without mkfs',
    given: ({ post }) =>
      post(
        'volumes',
        faulty(
          'provision Unavailable mkfs.ext4 is not installed on this node; install it (package e2fsprogs on Debian and Ubuntu)',
        ),
      ),
    until: ['volumes/data', 'mkfs.ext4'],
    command: whyData,
    words: [
      'mkfs.ext4 is not installed',
      'Next:',
      'apt-get install e2fsprogs',
      'is retried automatically',
    ],
  },
  {
    name: 'a provider that does not answer',
    given: ({ post }) => post('volumes', faulty('provision Timeout no answer in 30 s')),
    until: ['volumes/data', 'no answer'],
    command: whyData,
    words: [
      'no answer in 30 s',
      'the outcome of the call is unknown',
      'kedge delete volume/data -n $NS',
    ],
  },
  {
    name: 'an answer of the provider that can not be read',
    given: ({ post }) =>
      post('volumes', faulty("provision Unavailable the answer can't be read: no JSON")),
    until: ['volumes/data', 'no JSON'],
    command: whyData,
    words: [
      "an answer of the provider's API",
      'check [drivers.faulty].endpoint, and proxies',
      'kedge delete volume/data -n $NS',
    ],
  },
  {
    name: 'an answer to a change that can not be read',
    given: ({ post }) =>
      post('volumes', faulty("provision Timeout the answer can't be read: no JSON")),
    until: ['volumes/data', 'no JSON'],
    command: whyData,
    words: ['the outcome of the call is unknown', 'check [drivers.faulty].endpoint'],
  },
  {
    name: 'a driver with a fault',
    given: ({ post }) => post('volumes', faulty('provision Internal undefined is not a function')),
    until: ['volumes/data', 'undefined is not'],
    command: whyData,
    words: ['the driver failed', 'undefined is not a function', 'kedge delete volume/data -n $NS'],
  },
  {
    name: 'a foreign resource with the name of the volume',
    given: ({ post }) =>
      withToken(post, 'provision AlreadyExists disk pv-1 belongs to another user'),
    until: ['volumes/data', 'another user'],
    command: whyData,
    words: [
      'disk pv-1 belongs to another user',
      'rename or delete the resource',
      'kedge volume retry-provision volume/data -n $NS',
    ],
  },
  {
    name: 'a driver that does not support the call',
    given: ({ post }) => post('volumes', faulty('provision Unsupported no volumes of this size')),
    until: ['volumes/data', 'no volumes of this size'],
    command: whyData,
    words: [
      'no volumes of this size',
      'create it with another storage class',
      'kedge delete volume/data -n $NS',
    ],
    then: { recovers: ['volumes/data', 'gone'] },
  },
  {
    name: 'an expansion that the provider refuses',
    given: async ({ post, daemon, namespace }) => {
      await post('volumes', faulty('expand Unsupported this disk type has a fixed size'));
      const at = `/v1/namespaces/${namespace}/volumes/data`;
      await reached(daemon, at, 'Available');
      await daemon.ok('POST', `${at}:resize`, { size: '2Mi' });
    },
    until: ['volumes/data', 'fixed size'],
    command: whyData,
    words: [
      'this disk type has a fixed size',
      'request the current size of the volume',
      `{"size":"1048576"}`,
    ],
  },
  {
    name: 'an expansion that the driver can not do',
    given: ({ post, daemon }) =>
      post(
        'volumes',
        volume({
          storageClassName: 'local-host',
          parameters: { hostPath: join(daemon.home, 'host/grow'), createIfMissing: 'true' },
        }),
      ),
    until: ['volumes/data', 'Available'],
    command: 'kedge volume resize data 2Gi -n $NS',
    code: 5,
    words: [
      "driver local-host can't grow volumes",
      'leave size at 1Mi',
      'create a larger volume',
      'kedge exec',
    ],
  },
  {
    name: 'a volume that can not be attached',
    given: async ({ post, daemon, namespace }) => {
      await post('volumes', hostVolume(join(daemon.home, 'host', `${namespace}-stuck`)));
      await post('services', service(claim('data')));
    },
    until: ['instances/web-0', 'attached to node other'],
    command: 'kedge why service/web -n $NS',
    words: ['the disk is attached to node other', 'the object is in use', 'Next:'],
  },
  {
    name: 'a host path that does not exist',
    given: ({ post, daemon }) =>
      post(
        'volumes',
        volume({
          storageClassName: 'local-host',
          parameters: { hostPath: join(daemon.home, 'host/none') },
        }),
      ),
    until: ['volumes/data', 'does not exist'],
    command: whyData,
    words: [
      'does not exist; create it, or set createIfMissing',
      `{"parameters":{"createIfMissing":"true"}}`,
    ],
    then: { recovers: available },
  },
  {
    name: 'a host path that is not allowed',
    given: ({ file }) =>
      file(
        'kind: Volume\nname: data\nstorageClassName: local-host\nsize: 1Mi\naccessMode: ReadWriteOnce\nparameters: {hostPath: /etc}\n',
      ),
    command: 'kedge cast -n $NS $FILE',
    code: 6,
    words: ['"/etc" is not under [storage].hostPathAllowlist; it allows '],
  },
  {
    name: 'a host path of a secret that is not allowed',
    given: async ({ post }) => {
      await post('secrets', { name: 'place', data: { path: '/etc' } });
      await post(
        'volumes',
        volume({
          storageClassName: 'local-host',
          parameters: { hostPath: 'secret:place/path', createIfMissing: 'true' },
        }),
      );
    },
    until: ['volumes/data', 'hostPathAllowlist'],
    command: whyData,
    words: [
      'is not under [storage].hostPathAllowlist',
      'set parameters.hostPath of volume $NS/data',
    ],
  },
  {
    name: 'a topology that no node has',
    given: async ({ post, namespace }) => {
      await post('storageclasses', {
        name: namespace,
        driver: 'local',
        allowedTopologies: [{ matchLabels: { zone: namespace } }],
      });
      await post('volumes', volume({ storageClassName: namespace }));
    },
    until: ['volumes/data', 'TopologyUnsatisfied'],
    command: whyData,
    words: ['no node has the labels', 'kedge label node/here zone=$NS', '"allowedTopologies":null'],
    then: { recovers: available },
  },
  {
    name: 'a snapshot that the provider refuses',
    given: async ({ post, daemon, namespace }) => {
      await withToken(post, 'createSnapshot PermissionDenied no snapshots for this token');
      const at = `/v1/namespaces/${namespace}/volumes/data`;
      await reached(daemon, at, 'Available');
      await post('snapshots', { name: 'copy', source: { volume: 'data' } });
    },
    until: ['snapshots/copy', 'no snapshots for this token'],
    command: 'kedge why snapshot/copy -n $NS',
    words: ['Snapshot $NS/copy', 'no snapshots for this token', 'set data.key of secret $NS/token'],
    then: { value: 'none', recovers: ['snapshots/copy', 'Ready'] },
  },
  {
    name: 'a snapshot of a volume that failed',
    given: async ({ post }) => {
      await withToken(post, 'provision CredentialsRejected 401 bad token');
      await post('snapshots', { name: 'copy', source: { volume: 'data' } });
    },
    until: ['snapshots/copy', '401 bad token'],
    command: 'kedge why snapshot copy -n $NS',
    words: [
      'Volume $NS/data: ',
      '401 bad token',
      'Snapshot $NS/copy > Volume $NS/data',
      'kedge patch secret/token -n $NS',
    ],
    then: { value: 'none', recovers: ['snapshots/copy', 'Ready'] },
  },
  {
    name: 'a volume that its service left behind',
    given: async ({ post, daemon, namespace }) => {
      const claimTemplate = {
        ...{ storageClassName: 'local-host', size: '1Mi', accessMode: 'ReadWriteOnce' },
        ...{ reclaimPolicy: 'retain' },
        parameters: { hostPath: join(daemon.home, 'host', namespace), createIfMissing: 'true' },
      };
      const volumes = [{ name: 'data', mountPath: '/data', claimTemplate }];
      await post('services', service({ volumes }));
      const at = `/v1/namespaces/${namespace}/services/web`;
      await reached(daemon, at, 'Running');
      await daemon.ok('DELETE', at);
    },
    until: ['volumes/data-web-0', '"status":"Released"'],
    command: 'kedge volume explain data-web-0 -n $NS',
    words: [
      'is Released',
      'its service was deleted and its data kept',
      'kedge volume reuse volume/data-web-0 -n $NS',
    ],
    then: { recovers: ['volumes/data-web-0', 'Available'] },
  },
  {
    name: 'a namespace whose volume a service of another namespace uses',
    given: async ({ post, daemon, namespace }) => {
      await post('volumes', hostVolume(join(daemon.home, 'host', namespace)));
      await post('namespaces', { name: `${namespace}-user` });
      const user = service(claim(`data.${namespace}.svc`));
      await daemon.ok('POST', `/v1/namespaces/${namespace}-user/services`, user);
      const at = `/v1/namespaces/${namespace}/volumes/data`;
      await reached(daemon, at, 'Bound');
      await daemon.ok('DELETE', `/v1/namespaces/${namespace}?cascade=true`);
    },
    until: ['namespaces/$NS', 'ContentRemaining'],
    command: 'kedge why namespace/$NS',
    words: [
      'is Terminating',
      'stop service $NS-user/web',
      'kedge scale service/web -n $NS-user --replicas 0',
    ],
    then: { recovers: ['namespaces/$NS', 'gone'] },
  },
  {
    name: 'the deletion of a volume that is in use',
    given: async ({ post, daemon, namespace }) => {
      await post('volumes', hostVolume(join(daemon.home, 'host', namespace)));
      await post('services', service(claim('data')));
    },
    until: ['services/web', '"status":"Running"'],
    command: 'kedge delete volume/data -n $NS',
    code: 5,
    words: ['is bound to $NS/web-0', 'delete the service or scale it down first'],
  },
];
