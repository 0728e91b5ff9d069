import { join } from 'node:path';
import type { Mistake } from './mistake.js';
import { claim, hostVolume, service } from './objects.js';
import { makeUnkillable } from './unkillable.js';

const running = ['services/web', 'Running'] as const;
const whyWeb = 'kedge why service/web -n $NS';

/** Mistakes in the command and placement of a service. */
export const ofServices: readonly Mistake[] = [
  {
    name: 'a process that SIGKILL does not end',
    given: async ({ daemon, namespace, post }) => {
      await post('services', service());
      await makeUnkillable(daemon, namespace);
      await daemon.ok('DELETE', `/v1/namespaces/${namespace}/services/web`);
    },
    until: ['instances/web-0', 'does not end after SIGKILL'],
    command: 'kedge why instance/web-0 -n $NS',
    words: [
      'the workload could not be stopped',
      'which is blocked in the kernel',
      'once the kernel ends it',
      'systemctl reboot',
    ],
  },
  {
    name: 'a command that is not found',
    given: ({ post }) => post('services', service({ command: ['slep', '10000'] })),
    until: ['instances/web-0', 'is not found in its PATH'],
    command: whyWeb,
    words: ['Instance $NS/web-0', 'command slep is not found', 'set command[0] of service $NS/web'],
    then: { edit: ['- slep', '- sleep'], recovers: running },
  },
  {
    name: 'a command with a path that does not exist',
    given: ({ post }) => post('services', service({ command: ['/opt/none/server'] })),
    until: ['instances/web-0', 'does not exist'],
    command: whyWeb,
    words: ['command /opt/none/server does not exist', 'kedge edit service/web -n $NS'],
    then: {
      edit: ['- /opt/none/server', '- "/bin/sh"\\n  - "-c"\\n  - "sleep 10000"'],
      recovers: running,
    },
  },
  {
    name: 'a file that is not executable',
    given: ({ post }) => post('services', service({ command: ['/etc/passwd'] })),
    until: ['instances/web-0', 'is not executable'],
    command: 'kedge describe instance/web-0 -n $NS',
    words: [
      'command /etc/passwd is not executable',
      'chmod +x /etc/passwd',
      '["/bin/sh","/etc/passwd"]',
    ],
  },
  {
    name: 'a command that exits 1',
    given: ({ file }) =>
      file(
        `kind: Service\nname: web\nnamespace: $NS\nruntime: process\nrestartPolicy: Never\ncommand: [sh, -c, "echo no such database; exit 1"]\n`,
      ),
    command: 'kedge cast $FILE',
    code: 1,
    words: [
      'ended with exit code 1',
      'no such database',
      'kedge logs instance/web-0 -n $NS --tail 20',
      'Next: kedge restart instance/web-0 -n $NS',
    ],
  },
  {
    name: 'a crash loop',
    given: ({ file }) =>
      file(
        `kind: Service\nname: web\nnamespace: $NS\nruntime: process\ncommand: [sh, -c, "echo port 80 is taken; exit 3"]\n`,
      ),
    command: 'kedge cast $FILE',
    code: 1,
    words: ['ended with exit code 3', 'port 80 is taken', 'Next: kedge edit service/web -n $NS'],
  },
  {
    name: 'a command that ends, and is not started again',
    given: ({ post }) =>
      post(
        'services',
        service({ command: ['true'], restartPolicy: 'OnFailure', minReadySeconds: 3600 }),
      ),
    until: ['instances/web-0', 'ended with exit code 0'],
    command: whyWeb,
    words: [
      'ended with exit code 0',
      'its restartPolicy does not restart it',
      'kedge restart instance/web-0 -n $NS',
    ],
  },
  {
    name: 'a user that the node does not have',
    given: ({ post }) => post('services', service({ user: 'nosuch' })),
    until: ['instances/web-0', 'user nosuch does not exist'],
    command: whyWeb,
    words: [
      'user nosuch does not exist on the node of the instance',
      'set user of service $NS/web to a user of the node',
    ],
    then: { recovers: running },
  },
  {
    name: 'a working directory that does not exist',
    given: ({ post }) => post('services', service({ workingDir: '/opt/none' })),
    until: ['instances/web-0', 'working directory'],
    command: whyWeb,
    words: ['its working directory /opt/none does not exist', `--patch '{"workingDir":"/"}'`],
    then: { recovers: running },
  },
  {
    name: 'a configmap that does not exist',
    given: ({ post }) => post('services', service({ envFrom: [{ configmap: 'settings' }] })),
    until: ['instances/web-0', 'does not exist; create it'],
    command: whyWeb,
    words: [
      'envFrom: configmap $NS/settings does not exist',
      'kedge create configmap settings -n $NS',
    ],
    then: { recovers: running },
  },
  {
    name: 'a secret that does not exist',
    given: ({ post }) =>
      post(
        'services',
        service({
          secretMounts: [
            {
              name: 'login',
              mountPath: '/run/login',
              items: [{ key: 'password', path: 'password' }],
            },
          ],
        }),
      ),
    until: ['instances/web-0', 'does not exist; create it'],
    command: whyWeb,
    words: [
      'secret $NS/login does not exist',
      'kedge create secret login -n $NS --from-literal password=VALUE',
    ],
    then: { value: 'hunter2', recovers: running },
  },
  {
    name: 'a configmap that lacks a key',
    given: async ({ post }) => {
      await post('configmaps', { name: 'settings', data: { other: 'x' } });
      await post(
        'services',
        service({
          configmapMounts: [
            { name: 'settings', mountPath: '/run/s', items: [{ key: 'level', path: 'level' }] },
          ],
        }),
      );
    },
    until: ['instances/web-0', 'has no key'],
    command: whyWeb,
    words: ['has no key "level"', 'set data.level of configmap $NS/settings'],
    then: { value: 'debug', recovers: running },
  },
  {
    name: 'a node selector that no node matches',
    given: ({ post }) => post('services', service({ nodeSelector: { disk: 'ssd' } })),
    until: ['instances/web-0', 'NoNodeFits'],
    command: whyWeb,
    words: [
      'none of them matches nodeSelector {disk=ssd}',
      'here has',
      'kedge label node/here disk=ssd',
      `--patch '{"nodeSelector":null}'`,
    ],
    then: { recovers: running },
  },
  {
    name: 'a request that no node has free',
    given: ({ post }) => post('services', service({ resources: { cpu: { request: '10000' } } })),
    until: ['instances/web-0', 'InsufficientResources'],
    command: whyWeb,
    words: [
      'cpu free, 10000 is requested',
      'set resources.cpu.request of service $NS/web to at most',
      `--patch '{"resources":{"cpu":{"request":`,
    ],
    then: { recovers: running },
  },
  {
    name: 'a process that uses more memory than its limit',
    given: ({ post }) =>
      post(
        'services',
        service({
          // The reason stays in the status: a new run would say Starting.
          restartPolicy: 'Never',
          command: [
            'sh',
            '-c',
            'head -c 100000000 /dev/zero | tail -c 90000000 >/dev/null || exit 137; exec sleep 10000',
          ],
          resources: { memory: { limit: '32Mi' } },
        }),
      ),
    until: ['instances/web-0', 'OOMKilled'],
    command: whyWeb,
    words: [
      'it exceeded its memory limit (OOMKilled)',
      'set resources.memory.limit of service $NS/web to more than 32Mi',
    ],
    then: { value: '1Gi', recovers: running },
  },
  {
    name: 'a port of the node that another service has',
    given: async ({ post }) => {
      const ports = [{ name: 'http', port: 47_117 }];
      await post('services', { ...service({ ports }), name: 'first' });
      await post('services', service({ ports }));
    },
    until: ['instances/web-0', 'HostPortTaken'],
    command: whyWeb,
    words: [
      'port 47117/TCP of node here is taken by instance $NS/first-0',
      'set ports[].hostPort of service $NS/web',
      'kedge scale service/first -n $NS --replicas 0',
    ],
  },
  {
    name: 'a container engine that the node does not have',
    given: ({ post }) =>
      post(
        'services',
        service({ runtime: 'container', image: 'busybox', command: ['sleep', '10000'] }),
      ),
    until: ['instances/web-0', 'RuntimeUnavailable'],
    command: whyWeb,
    words: [
      '/nonexistent/docker.sock',
      'install and start a container engine on node here',
      'continues automatically once the engine answers',
      'Next:\n  apt-get install docker.io',
    ],
  },
  {
    name: 'a misspelt subPath of a mount that is read-only',
    given: async ({ post, daemon, namespace }) => {
      await post('volumes', hostVolume(join(daemon.home, 'host', namespace)));
      await post('services', service(claim('data', { subPath: 'lgos', readOnly: true })));
    },
    until: ['instances/web-0', 'lgos'],
    command: whyWeb,
    words: [
      '"lgos" does not exist in the volume',
      'set volumes[].subPath of service $NS/web',
      'kedge edit service/web -n $NS',
    ],
    then: { edit: ['subPath: lgos', 'subPath: ""'], recovers: running },
  },
  {
    name: 'a volume that does not exist',
    given: ({ post }) => post('services', service(claim('data'))),
    until: ['instances/web-0', 'does not exist yet'],
    command: whyWeb,
    words: [
      'volume $NS/data does not exist yet',
      'set parameters.hostPath of a new volume $NS/data',
      'kedge cast',
    ],
    then: { value: '$HOME/host/made', recovers: running },
  },
  {
    name: 'a misspelt volume',
    given: async ({ post, daemon, namespace }) => {
      await post('volumes', hostVolume(join(daemon.home, 'host', namespace)));
      await post('services', service(claim('dta')));
    },
    until: ['instances/web-0', 'does not exist yet'],
    command: whyWeb,
    words: [
      'volume $NS/dta does not exist yet',
      'volumes of namespace $NS: data',
      'kedge edit service/web -n $NS',
    ],
  },
  {
    name: 'a volume that another instance has',
    given: async ({ post, daemon, namespace }) => {
      await post('volumes', hostVolume(join(daemon.home, 'host', namespace)));
      await post('services', service({ ...claim('data'), minReadySeconds: 0 }, 'first'));
    },
    until: ['services/first', 'Running'],
    command: `printf 'kind: Service\\nname: web\\nnamespace: $NS\\nruntime: process\\ncommand: [sleep, "10000"]\\nvolumes:\\n- name: data\\n  mountPath: /data\\n  claim: {name: data}\\n' | kedge cast --timeout 4 -`,
    code: 7,
    words: [
      'is ReadWriteOnce and in use by instance $NS/first-0',
      'stop service $NS/first',
      'Next: kedge scale service/first -n $NS --replicas 0',
    ],
    then: { recovers: running },
  },
];
